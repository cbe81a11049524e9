import Engine
package import Home
package import Membership
import Replication
package import Storage
package import Wire

/// What a node finds in its store when it opens.
package struct StoredState {
  package let circle: Circle
  package let preference: Bool
  package let localPremium: LocalPremium
  package let pausedPeers: Set<DeviceKey>
  private let waiting: AwaitedAdmission?

  package init(_ store: Store) throws {
    circle = try Circle(store: store)
    preference = try store.meta(MetaKey.preference) == [1]
    waiting = try store.meta(MetaKey.waiting).flatMap { AwaitedAdmission(bytes: $0) }
    localPremium = try LocalPremium(store)
    pausedPeers = Set(try store.metaLines(MetaKey.paused).compactMap { DeviceKey(hex: $0) })
  }

  /// The admission that keys wait for; nil for those of a member.
  ///
  /// - Throws: `WaymarkError` if the circle has never admitted them, and they do not wait for that.
  package func admission(of identity: Identity, in home: Home) throws -> AwaitedAdmission? {
    // A device that was revoked goes on showing what it holds.
    if circle.evaluation.isMember(identity.device) || circle.evaluation.hasCertificate(identity.device) {
      return nil
    }
    guard waiting?.device == identity.device else {
      throw WaymarkError.home(
        .keyMissing, "The keys in \(home.keys) are not those of a member of the circle in this store.",
        next: "put the right key file back, or join the circle anew")
    }
    return waiting
  }
}

/// A store was restored where its keys were not: this device has new ones, which the circle does not know yet. It
/// shows what it holds, and writes and sends nothing until it has joined.
package struct AwaitedAdmission: Hashable, Sendable {
  package let device: DeviceKey
  package let name: String

  package init(device: DeviceKey, name: String) {
    self.device = device
    self.name = name
  }

  /// The key and the name, as a store keeps them.
  package var bytes: [UInt8] { device.bytes + Array(name.utf8) }

  package init?(bytes: [UInt8]) {
    guard bytes.count >= Bytes32.count, let device = DeviceKey(bytes: Array(bytes.prefix(Bytes32.count)))
    else { return nil }
    self.init(device: device, name: String(decoding: bytes.dropFirst(Bytes32.count), as: UTF8.self))
  }

  package static let sentence =
    "this device holds a restored store and is not in the circle yet: it can be read, not written"
  package static let next: Step =
    "\(waymark: "invite", on: "a device of the circle"); then here \(waymark: "join TICKET")"
}

extension Store {
  /// A circle has admitted the keys that waited.
  ///
  /// - Parameter ticket: the one that this device joined with; nil if it was admitted by the root key.
  func admitKeys(by statements: [Statement], with ticket: TicketID? = nil) throws {
    try saveStatements(statements.map { ($0.id, $0.bytes) })
    try setMeta(MetaKey.joinedWith, ticket?.bytes)
    try setMeta(MetaKey.waiting, nil)
  }
}
