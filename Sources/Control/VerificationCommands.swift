import Membership
package import Waymark
import WaymarkCare

/// `verify`: compares the data here with that of connected peers or, with `--deep`, the store with its log.
package struct Verify: NodeCommand {
  package static let name = "verify"

  package var peer: String?
  package var deep: Bool?
  package var repair: Bool?
  package var isReadOnly: Bool { repair != true }

  package enum Answer: Sendable {
    case peers(PeerVerification)
    case store(StoreVerification)
  }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> Answer {
    guard deep == true || repair == true else {
      try node.core.checkServing()
      return .peers(try await node.verify(with: try peer.map { try node.core.peer(named: $0).device }))
    }
    guard peer == nil else {
      throw WaymarkError.usage(
        "--deep and --repair check only this device, so they take no PEER.",
        next: "\(waymark: "verify --deep"), or \(waymark: "verify PEER")")
    }
    return .store(
      try await node.verifyStore(repairing: repair == true) { call.tell(.progress($0)) })
  }

  /// Verifies a store even if it is suspect or can't be opened.
  package func performWithoutNode(
    _ home: Home, _ tell: @escaping @Sendable (CommandEvent) -> Void
  ) async throws -> Answer {
    do {
      return try await perform(onNodeOf: home, tell)
    } catch let failure as WaymarkError where failure.reason == .store {
      return .store(
        try await StoreVerification(closedStoreOf: home, repairing: repair == true) {
          tell(.progress($0))
        })
    }
  }
}

extension Verify.Answer: Codable {
  private enum CodingKeys: CodingKey {
    case deep
  }

  package init(from decoder: any Decoder) throws {
    let isDeep = try decoder.container(keyedBy: CodingKeys.self).contains(.deep)
    self =
      isDeep ? .store(try StoreVerification(from: decoder)) : .peers(try PeerVerification(from: decoder))
  }

  package func encode(to encoder: any Encoder) throws {
    switch self {
    case .peers(let verification): try verification.encode(to: encoder)
    case .store(let verification):
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(true, forKey: .deep)
      try verification.encode(to: encoder)
    }
  }
}
