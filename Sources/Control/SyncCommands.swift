package import Waymark

/// `sync status`: whether records sync, and why.
package struct ShowSync: PromptCommand {
  package static let name = "sync.status"
  package typealias Answer = SyncState
  package var isReadOnly: Bool { true }

  package func perform(on node: isolated Node) throws -> SyncState { try node.syncState() }
}

/// `sync on`: opt in, after a look at what it means.
package struct TurnSyncOn: NodeCommand, ConfirmableCommand {
  package static let name = "sync.on"
  package var isReadOnly: Bool { preview == true }

  package var preview: Bool?
  package var yes: Bool?
  /// Whether a person at a terminal can be asked.
  package var interactive: Bool?

  package init() {}

  /// What became of the gate, or what would become of the records.
  package enum Answer: Sendable {
    case state(SyncState)
    case preview(SyncPreview)
  }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> Answer {
    if preview == true {
      try node.checkPremium()
      return .preview(try await node.syncPreview())
    }
    return .state(
      try await node.turnSyncOn(isConfirmed: yes == true, isAtTerminal: interactive == true))
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

/// `sync off`: keeps records on this device. Works for everyone.
package struct TurnSyncOff: PromptCommand {
  package static let name = "sync.off"
  package typealias Answer = SyncState

  package func perform(on node: isolated Node) throws -> SyncState { try node.turnSyncOff() }
}

/// `sync now`: asks every peer at once.
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
