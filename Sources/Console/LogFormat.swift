package import Platform
import JSONDocument
import Reasons

/// The format of log lines: for people, for the systemd journal, or for programs.
package enum LogFormat: String, CaseIterable, Sendable {
  /// For people: each line begins with the time.
  case text
  /// For the journal: each line begins with a priority. The journal strips the priority, and records the time itself.
  case journal
  /// One JSON object per line.
  case json

  /// Returns the format that the flag or `WAYMARK_LOG_FORMAT` names. If neither names one, chooses it according to
  /// where standard error goes.
  ///
  /// - Throws: `WaymarkError` for an unknown format.
  package static func chosen(
    flag: String?, environment: [String: String], standardError: FileNumber? = FileNumber(of: STDERR_FILENO)
  ) throws -> LogFormat {
    guard let name = flag ?? environment["WAYMARK_LOG_FORMAT"], !name.isEmpty else {
      return fitting(environment, standardError)
    }
    if let format = LogFormat(rawValue: name) { return format }
    let known = allCases.map(\.rawValue).joined(separator: ", ")
    throw WaymarkError(
      exitCode: ExitCode.usage, code: .usage,
      message: "Invalid WAYMARK_LOG_FORMAT “\(printable(name))”: expected one of \(known).",
      next: .waymark("help run"))
  }

  /// Chooses the format according to where standard error goes: `journal` if that is the file that `JOURNAL_STREAM`
  /// names, else `text`.
  package static func fitting(
    _ environment: [String: String], _ standardError: FileNumber? = FileNumber(of: STDERR_FILENO)
  ) -> LogFormat {
    guard let journal = environment["JOURNAL_STREAM"].flatMap(FileNumber.init(journal:)) else { return .text }
    return journal == standardError ? .journal : .text
  }

  /// Returns a line of the log.
  ///
  /// - Parameters:
  ///   - level: the name of its level.
  ///   - priority: the syslog priority of the level.
  ///   - now: milliseconds since 1970.
  ///   - isTerminal: whether a person is watching, so that the date is left out.
  package func line(
    _ level: String, priority: Int, _ area: String, _ message: String, now: Int64, isTerminal: Bool = false,
    zone: Zone = .current
  ) -> String {
    switch self {
    case .text:
      let time = isTerminal ? TimeText.logClock(now, zone) : TimeText.log(now, zone)
      return "\(time) \(level.padded(to: 7)) \(area.padded(to: 9)) \(printable(message))"
    case .journal:
      return "<\(priority)>\(area): \(printable(message))"
    case .json:
      let line: JSON = [
        "type": "log", "time": .string(TimeText.log(now, zone)), "level": .string(level),
        "area": .string(area), "message": .string(message),
      ]
      return line.text(.line)
    }
  }
}

/// The identity of an open file: its device and inode numbers.
package struct FileNumber: Hashable, Sendable {
  package let device: UInt64
  package let number: UInt64

  package init(device: UInt64, number: UInt64) {
    self.device = device
    self.number = number
  }

  package init?(of descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    self.init(device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(status.st_ino))
  }

  /// Parses the value of `JOURNAL_STREAM`: two numbers separated by a colon.
  package init?(journal: String) {
    let parts = journal.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let device = UInt64(parts[0]), let number = UInt64(parts[1]) else { return nil }
    self.init(device: device, number: number)
  }
}
