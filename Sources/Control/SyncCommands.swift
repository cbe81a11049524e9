package import Waymark
import WaymarkCare

/// `sync status`: whether records sync, and if not, why.
package struct ShowSync: PromptCommand {
  package static let name = "sync.status"
  package typealias Answer = SyncState
  package var isReadOnly: Bool { true }

  package func perform(on node: isolated Node) throws -> SyncState { try node.syncState() }
}

/// `sync on`: turns on sync of records, after a preview of what would be merged.
package struct TurnSyncOn: NodeCommand, ConfirmableCommand {
  package static let name = "sync.on"
  package var isReadOnly: Bool { preview == true }

  package var preview: Bool?
  /// Whether to invite all other devices to turn sync on, too.
  package var everywhere: Bool?
  package var yes: Bool?

  package init() {}

  /// The new state of sync, or a preview of what would happen to the records.
  package enum Answer: Sendable {
    case state(SyncState)
    case preview(SyncPreview)
  }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> Answer {
    if preview == true {
      try node.core.checkPremium()
      return .preview(try await node.syncPreview())
    }
    let isConfirmed = yes == true
    return .state(
      everywhere == true
        ? try await node.turnSyncOnEverywhere(isConfirmed: isConfirmed)
        : try await node.turnSyncOn(isConfirmed: isConfirmed))
  }
}

extension TurnSyncOn.Answer: Codable {
  private enum CodingKeys: CodingKey { case preview }

  package func encode(to encoder: any Encoder) throws {
    switch self {
    case .state(let state): try state.encode(to: encoder)
    case .preview(let preview): try preview.encode(to: encoder)
    }
  }

  package init(from decoder: any Decoder) throws {
    let isPreview = try decoder.container(keyedBy: CodingKeys.self).contains(.preview)
    self = isPreview ? .preview(try SyncPreview(from: decoder)) : .state(try SyncState(from: decoder))
  }
}

/// `sync off`: turns sync of records off. Works without premium.
package struct TurnSyncOff: PromptCommand {
  package static let name = "sync.off"
  package typealias Answer = SyncState

  package func perform(on node: isolated Node) throws -> SyncState { try node.turnSyncOff() }
}

/// `sync now`: syncs with every peer now.
package struct SyncNow: PromptCommand {
  package static let name = "sync.now"

  package struct Answer: Codable, Sendable {
    package let peers: [Peer]
  }

  package func perform(on node: isolated Node) throws -> Answer {
    try node.syncNow()
    return Answer(peers: try node.peers())
  }
}
