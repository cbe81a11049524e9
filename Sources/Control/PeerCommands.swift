import Membership
package import Waymark
package import Wire

/// `peers ping`: asks a connected peer for a sign of life, several times, over the live session.
package struct PingPeer: NodeCommand {
  package static let name = "peers.ping"
  package typealias Answer = Peer.Ping

  package var peer: String
  package var count: String?
  package var isReadOnly: Bool { true }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> Peer.Ping {
    try node.checkServing()
    let device = try node.peer(named: peer).device
    return try await node.ping(device, count: try wholeNumber(count, "--count", 1...20) ?? 3)
  }
}

/// `peers rename`: calls a peer by another name on this device.
package struct RenamePeer: PromptCommand {
  package static let name = "peers.rename"

  package var peer: String
  package var name: String?

  package struct Answer: Codable, Sendable {
    package let device: DeviceKey
    /// What it is called here from now on.
    package let name: String
    package let ownName: String
  }

  package func perform(on node: isolated Node) throws -> Answer {
    let device = try node.peer(named: peer).device
    try node.rename(device, to: name)
    let renamed = try node.peer(named: device.description)
    return Answer(device: device, name: node.name(of: device), ownName: renamed.name)
  }
}

/// The whole number that was typed; nil if none was.
///
/// - Throws: `WaymarkError` with the code `bad_value`.
func wholeNumber(_ text: String?, _ flag: String, _ range: ClosedRange<Int>) throws -> Int? {
  guard let text else { return nil }
  guard let number = Int(text), range.contains(number) else {
    let bounds =
      range.upperBound == .max
      ? "from \(range.lowerBound) on" : "from \(range.lowerBound) to \(range.upperBound)"
    throw WaymarkError.badValue(flag, text, allowed: "it is a whole number \(bounds)")
  }
  return number
}
