import Foundation
import JSONDocument
import Replication
import Synchronization
import Testing
import WaymarkCare

@testable import NodeOperations
@testable import NodeRuntime
@testable import Waymark

/// A clock whose time the test sets.
final class Wall: Sendable {
  private let now: Mutex<Int64>

  init(_ now: Int64) { self.now = Mutex(now) }

  var value: Int64 {
    get { now.withLock { $0 } }
    set { now.withLock { $0 = newValue } }
  }
}

/// The progress messages of a call, in order.
final class Heard<Event: Sendable>: Sendable {
  private let events = Mutex<[Event]>([])

  var all: [Event] { events.withLock { $0 } }

  func note(_ event: Event) { events.withLock { $0.append(event) } }
}

/// The code of the error that a call throws; nil if it succeeds.
func refusal(_ body: () async throws -> Void) async throws -> String? {
  do {
    try await body()
    return nil
  } catch let error as WaymarkError {
    return error.code.rawValue
  }
}

extension SocketCircle {
  /// Adds a record with a command, and returns its id.
  func add(_ name: String, _ kind: String, _ pairs: String...) async throws -> UUID {
    let answer = try await run(name, "\(kind).add", fields(pairs))
    return try #require(answer["id"]?.string.flatMap { UUID(uuidString: $0) })
  }

  func device(_ name: String) async throws -> DeviceKey { try await self[name].status().device }
}

extension Node {
  func issueOwnPremium(until end: Moment? = nil) throws -> OwnPremiumSummary {
    try OwnPremiumIssue(core).issue(until: end)
  }

  var issuers: [IssuerSummary] { PremiumOperations(core).issuers }
}
