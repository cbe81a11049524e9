// Sources/store.md, "Log"

package import Wire

/// The cuts that a store's logs already reflect. They are stored in `meta`, so that a start with unchanged cuts does
/// not rebuild anything.
package struct AppliedCuts {
  package static let key = "cuts"

  /// For each log that statements end, the line if there is one, and the tips of every cut: “<line>[tip,tip]”.
  private var tips: [LogKey: String] = [:]

  package init(_ logs: Set<LogKey>, by rule: (LogKey) -> LogEnd?) {
    for log in logs { if let cuts = rule(log) { tips[log] = Self.text(cuts) } }
  }

  /// Parses the stored form. An unreadable line is skipped, which causes one unnecessary rebuild.
  package init(stored bytes: [UInt8]?) {
    for line in String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
      guard words.count == 4, let device = DeviceKey(hex: words[0]),
        let incarnation = Incarnation(hex: words[1]),
        let lane = UInt8(words[2]).flatMap(Lane.init(rawValue:))
      else { continue }
      tips[LogKey(device: device, incarnation: incarnation, lane: lane)] = words[3]
    }
  }

  package var bytes: [UInt8] {
    let lines = tips.keys.sorted().map { log in
      "\(log.device) \(log.incarnation) \(log.lane.rawValue) \(tips[log] ?? "")\n"
    }
    return Array(lines.joined().utf8)
  }

  /// The end that was applied to a log; nil for a log that no statement ended.
  package subscript(log: LogKey) -> LogEnd? {
    guard let text = tips[log] else { return nil }
    let line = text.first == "<" ? UInt64(text.dropFirst().prefix { $0 != ">" }) : nil
    let cuts = text.drop { $0 != "[" }.split(separator: "]").map { cut in
      Set(cut.dropFirst().split(separator: ",").compactMap { ChangeSetID(hex: $0) })
    }
    return LogEnd(cuts: Set(cuts), line: line)
  }

  /// Adds those logs of `other` that are not listed yet. Returns false if all of them are already listed.
  package mutating func add(_ other: AppliedCuts) -> Bool {
    let known = tips.count
    tips.merge(other.tips) { old, _ in old }
    return tips.count > known
  }

  /// Returns the logs whose cuts differ.
  package func difference(to other: AppliedCuts) -> Set<LogKey> {
    Set(tips.keys).union(other.tips.keys).filter { tips[$0] != other.tips[$0] }
  }

  private static func text(_ end: LogEnd) -> String {
    let line = end.line.map { "<\($0)>" } ?? ""
    return line
      + end.cuts.map { "[" + $0.sorted().map { "\($0)" }.joined(separator: ",") + "]" }.sorted().joined()
  }
}
