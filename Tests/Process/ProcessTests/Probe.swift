import Foundation
import JSONDocument
import Processes
import Synchronization
import Testing
import Waymark
import WaymarkCare
import Wire

/// Checks a reason in every output: `status` as JSON and as text, its exit code, `why`, `doctor`, `metrics`.
final class Probe: Sendable {
  private let seen = Mutex<Set<Reason>>([])

  var reasons: Set<Reason> { seen.withLock { $0 } }

  /// Waits until a device reports a reason, then expects every command to report it alike.
  ///
  /// - Parameters:
  ///   - peer: the peer that the reason concerns, if any.
  ///   - exit: the expected exit code of `status --check`.
  /// - Returns: the reason as `status` shows it.
  @discardableResult
  func see(
    _ reason: Reason, on device: Device, of peer: String? = nil, exit: Int32 = 5, seconds: Int = 30,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> JSON {
    seen.withLock { _ = $0.insert(reason) }
    let cause = try await cause(reason, device, peer, seconds)
    #expect(cause["severity"]?.string == reason.severity.rawValue, sourceLocation: sourceLocation)
    // A transient state may appear in one status and not in the next.
    try await eventually("`doctor` on \(device.name) reports \(reason.rawValue)", seconds: seconds) {
      let outcome = try await device.run(["doctor", "--json"])
      let found = outcome.json["findings"]?.array?.first { $0["code"]?.string == reason.rawValue }
      let isBad = outcome.json["findings"]?.array?.contains { $0["severity"] == "error" } ?? false
      return found?["severity"]?.string == reason.severity.rawValue && outcome.code == (isBad ? 1 : 0)
    }
    try await eventually("`metrics` on \(device.name) report \(reason.rawValue)", seconds: seconds) {
      let text = try await device.text("metrics")
      return text.contains(
        "waymark_reason_present{reason=\"\(reason.rawValue)\",severity=\"\(reason.severity.rawValue)\"")
    }
    try await eventually("`status --check` on \(device.name) exits with \(exit), as text", seconds: seconds) {
      let outcome = try await device.run(["status", "--check"])
      return outcome.code == exit && Self.says(cause, outcome.output)
    }
    if let peer {
      try await eventually("`why \(peer)` on \(device.name) reports \(reason.rawValue)", seconds: seconds) {
        try await device.text("why", peer).contains("(\(reason.rawValue))")
      }
      try await eventually("`peers` on \(device.name) reports \(reason.rawValue)", seconds: seconds) {
        try await device.json("peers")["peers"]?.array?.contains {
          $0["name"]?.string == peer && $0["reason"]?.string == reason.rawValue
        } ?? false
      }
    }
    return cause
  }

  private func cause(_ reason: Reason, _ device: Device, _ peer: String?, _ seconds: Int) async throws -> JSON
  {
    var found: JSON = .null
    var last: JSON = .null
    try await eventually(
      "\(device.name) reports \(reason.rawValue), but it reported \(last.text())", seconds: seconds
    ) {
      last = try await device.status().document["reasons"] ?? .null
      let fitting = last.array?.filter { $0["reason"]?.string == reason.rawValue } ?? []
      guard let first = fitting.first(where: { peer == nil || $0["name"]?.string == peer }) else {
        return false
      }
      #expect(peer == nil ? true : fitting.count == 1, "one cause is not listed twice")
      found = first
      return true
    }
    return found
  }

  /// Whether a page contains the next step, or the text if there is none, wherever its lines break.
  private static func says(_ cause: JSON, _ page: String) -> Bool {
    let words = page.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    // In a row the peer's name comes first, and the sentence says “it”.
    let name = cause["name"]?.string ?? "\0"
    if let next = cause["next"]?.string?.split(separator: ",").first.map(String.init) {
      return words.contains(next) || words.contains(next.replacing("\(name) ", with: "it "))
    }
    let text = cause["text"]?.string ?? ""
    return [text, text.replacing(name, with: "it")].contains { text in
      words.lowercased().contains(text.lowercased().prefix(30))
    }
  }

  /// Whether a device reports a reason now: for states too short for several checks.
  func glimpse(_ reason: Reason, on device: Device, of peer: String) async throws -> Bool {
    let found = try await device.status().peer(peer)
    guard found?["reason"]?.string == reason.rawValue else { return false }
    #expect(found?["severity"]?.string == reason.severity.rawValue)
    #expect(found?["text"]?.string == "\(reason.sentence(peer: peer))")
    seen.withLock { _ = $0.insert(reason) }
    return true
  }

  /// Waits until a reason has disappeared.
  func gone(_ reason: Reason, on device: Device, seconds: Int = 40) async throws {
    try await eventually("\(reason.rawValue) has ended on \(device.name)", seconds: seconds) {
      let reasons = try await device.status().document["reasons"]?.array ?? []
      return !reasons.contains { $0["reason"]?.string == reason.rawValue }
    }
  }

  /// Runs the next step of a reason, exactly as written.
  func follow(_ cause: JSON, on device: Device) async throws {
    let next = try #require(cause["next"]?.string)
    let words = next.split(separator: " ").map(String.init)
    #expect(words.first == "waymark", "\(next)")
    let outcome = try await device.run(Array(words.dropFirst()) + ["--yes"])
    #expect(outcome.code == 0, "\(next): \(outcome.errors)")
  }

  /// Expects sync with a peer in every output.
  func seeSync(of device: Device, with peer: String) async throws {
    seen.withLock { _ = $0.insert(.inSync) }
    try await device.wait(until: "in sync with \(peer)", seconds: 40) {
      $0.peer(peer)?["reason"] == "in_sync" && $0.peer(peer)?["state"] == "in_sync"
    }
    #expect(try await device.text("why", peer).contains("Nothing prevents it from being in sync"))
    #expect(try await device.text("metrics").contains("waymark_peer_in_sync{peer=\"\(peer)\""))
  }
}

extension String {
  /// A step without the `--home` option that its commands contain.
  var withoutHome: String { replacing(/[ ]--home \S+/, with: "") }
}
