import Membership
package import Waymark
import WaymarkCare

// Commands that may change many records: each has a preview and takes a backup first.

/// `mirror`: replaces the records on all devices with those of a peer.
package struct Mirror: NodeCommand, ConfirmableCommand {
  package static let name = "mirror"
  package typealias Answer = OverrideSummary

  package var from: String?
  package var only: String?
  package var trip: String?
  package var preview: Bool?
  package var yes: Bool?
  package var isReadOnly: Bool { preview == true }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> OverrideSummary {
    let peer = try node.core.peer(named: required(from, Self.name, "--from and a peer")).device
    return try await OverrideOperation(
      from: peer, only: only, trip: trip, isPreview: preview == true, isConfirmed: yes == true
    ).run(on: node.core) { call.tell(.progress($0)) }
  }
}

/// `assert`: replaces the records on all devices with those of this one.
package struct AssertRecords: NodeCommand, ConfirmableCommand {
  package static let name = "assert"
  package typealias Answer = OverrideSummary

  package var only: String?
  package var trip: String?
  package var preview: Bool?
  package var yes: Bool?
  package var isReadOnly: Bool { preview == true }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> OverrideSummary {
    try await OverrideOperation(
      from: nil, only: only, trip: trip, isPreview: preview == true, isConfirmed: yes == true
    ).run(on: node.core) { call.tell(.progress($0)) }
  }
}

/// `cleanup`: deletes trips that tests left behind.
package struct CleanUp: NodeCommand, ConfirmableCommand {
  package static let name = "cleanup"
  package typealias Answer = CleanupSummary

  /// The trips to delete; nil to look for trips by their names.
  package var trips: [String]?
  /// The trips to keep.
  package var except: [String]?
  package var preview: Bool?
  package var yes: Bool?
  package var isReadOnly: Bool { preview == true }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> CleanupSummary {
    let leftovers = TestData(store: node.store, named: trips ?? [], except: except ?? [])
    if preview == true { return try leftovers.preview() }
    return try await leftovers.delete(on: node.core, isConfirmed: yes == true)
  }
}

/// `restamp`: re-timestamps changes made while this machine's clock was ahead.
package struct Restamp: NodeCommand, ConfirmableCommand {
  package static let name = "restamp"
  package typealias Answer = RestampSummary

  package var preview: Bool?
  package var yes: Bool?
  package var isReadOnly: Bool { preview == true }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> RestampSummary {
    try await Restamper(isPreview: preview == true, isConfirmed: yes == true).run(on: node.core)
  }
}
