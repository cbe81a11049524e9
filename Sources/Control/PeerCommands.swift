import Membership
package import Waymark
import WaymarkCare
package import Wire

/// `peers list`: the other devices.
package struct ListPeers: PromptCommand {
  package static let name = "peers.list"
  package var isReadOnly: Bool { true }

  package struct Answer: Codable, Sendable {
    package let peers: [Peer]
    package let addresses: [AddedAddress]
    package let running: Bool
    package let reasons: [NodeStatus.Cause]
  }

  package func perform(on node: isolated Node) throws -> Answer {
    let status = try node.status()
    return Answer(
      peers: status.peers, addresses: status.addresses, running: status.isServing, reasons: status.causes)
  }
}

/// `peers add`: adds an address to dial.
package struct AddPeer: PromptCommand {
  package static let name = "peers.add"

  package var address: String

  package struct Answer: Codable, Sendable {
    package let address: String
    package let running: Bool
  }

  package func perform(on node: isolated Node) throws -> Answer {
    try node.addPeer(at: address)
    return Answer(address: address, running: node.core.isServing)
  }
}

/// `peers remove`: removes an address that was added.
package struct RemovePeer: PromptCommand {
  package static let name = "peers.remove"

  package var address: String

  package struct Answer: Codable, Sendable {
    package let address: String
  }

  package func perform(on node: isolated Node) throws -> Answer {
    try node.removePeer(at: address)
    return Answer(address: address)
  }
}

/// `peers pause`: pauses the exchange with a peer.
package struct PausePeer: PromptCommand {
  package static let name = "peers.pause"
  package typealias Answer = PausedPeer

  package var peer: String

  package func perform(on node: isolated Node) throws -> PausedPeer {
    let peer = try node.core.peer(named: peer)
    try node.pause(peer.device)
    return PausedPeer(device: peer.device, name: peer.name, paused: true)
  }
}

/// `peers resume`: resumes the exchange with a peer.
package struct ResumePeer: PromptCommand {
  package static let name = "peers.resume"
  package typealias Answer = PausedPeer

  package var peer: String

  package func perform(on node: isolated Node) throws -> PausedPeer {
    let peer = try node.core.peer(named: peer)
    try node.resume(peer.device)
    return PausedPeer(device: peer.device, name: peer.name, paused: false)
  }
}

/// A peer, and whether it is paused.
package struct PausedPeer: Codable, Sendable {
  package let device: DeviceKey
  package let name: String
  package let paused: Bool
}

/// `peers ping`: measures several round trips to a connected peer, over the existing session.
package struct PingPeer: NodeCommand {
  package static let name = "peers.ping"
  package typealias Answer = PingResult

  package var peer: String
  package var count: String?
  package var isReadOnly: Bool { true }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> PingResult {
    try node.core.checkServing()
    let device = try node.core.peer(named: peer).device
    return try await node.ping(device, count: try wholeNumber(count, "--count", 1...20) ?? 3)
  }
}

/// `peers rename`: sets the name of a peer on this device.
package struct RenamePeer: PromptCommand {
  package static let name = "peers.rename"

  package var peer: String
  package var name: String?

  package struct Answer: Codable, Sendable {
    package let device: DeviceKey
    /// The name of the peer on this device.
    package let name: String
    package let ownName: String
  }

  package func perform(on node: isolated Node) throws -> Answer {
    let device = try node.core.peer(named: peer).device
    try node.rename(device, to: name)
    let renamed = try node.core.peer(named: device.description)
    return Answer(device: device, name: node.core.name(of: device), ownName: renamed.name)
  }
}

/// Parses the whole number that the user typed; nil if none was typed.
///
/// - Throws: `WaymarkError` with the code `bad_value`.
func wholeNumber(_ text: String?, _ flag: String, _ range: ClosedRange<Int>) throws -> Int? {
  guard let text else { return nil }
  guard let number = Int(text), range.contains(number) else {
    let bounds =
      range.upperBound == .max
      ? "of at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
    throw WaymarkError.badValue(flag, text, allowed: "expected a whole number \(bounds)")
  }
  return number
}
