import Engine
package import Home
package import Membership
package import Purchases
package import Reasons
import Replication
package import Storage
package import Wire

/// The state that a node reads from its store when it opens.
package struct StoredState {
  package let circle: Circle
  package let preference: Bool
  package let localPremium: LocalPremium
  package let pausedPeers: Set<DeviceKey>
  private let waiting: AwaitedAdmission?

  /// - Parameter purchases: which purchases give premium; nil for those that the build accepts by itself.
  package init(_ store: Store, _ purchases: PurchasePolicy? = nil) throws {
    var circle = try Circle(store: store)
    circle.purchasePolicy = BuildTraits.purchases(purchases)
    self.circle = circle
    preference = try store.meta(MetaKey.preference) == [1]
    waiting = try store.meta(MetaKey.waiting).flatMap { AwaitedAdmission(bytes: $0) }
    localPremium = try LocalPremium(store)
    pausedPeers = Set(try store.metaLines(MetaKey.paused).compactMap { DeviceKey(hex: $0) })
  }

  /// Returns the admission that the keys await; nil if the circle has certified the keys.
  ///
  /// - Throws: `WaymarkError` if the circle has never certified the keys and they don't await admission either.
  package func admission(of identity: Identity, in home: Home) throws -> AwaitedAdmission? {
    // A device that was revoked still displays the data that it holds.
    if circle.evaluation.isMember(identity.device) || circle.evaluation.hasCertificate(identity.device) {
      return nil
    }
    guard waiting?.device == identity.device else {
      throw WaymarkError.home(
        .keyMissing, "The keys in \(home.keys) do not belong to a member of this store's circle.",
        next: "put the right key file back, or join the circle again")
    }
    return waiting
  }
}

/// The admission that a device awaits after its store was restored without its keys. The device has new keys, which
/// the circle does not know yet. Until the device has joined, it is read-only and sends nothing.
package struct AwaitedAdmission: Hashable, Sendable {
  package let device: DeviceKey
  package let name: String

  package init(device: DeviceKey, name: String) {
    self.device = device
    self.name = name
  }

  /// The device's key and name, encoded as they are stored.
  package var bytes: [UInt8] { device.bytes + Array(name.utf8) }

  package init?(bytes: [UInt8]) {
    guard bytes.count >= Bytes32.count, let device = DeviceKey(bytes: Array(bytes.prefix(Bytes32.count)))
    else { return nil }
    self.init(device: device, name: String(decoding: bytes.dropFirst(Bytes32.count), as: UTF8.self))
  }

  package static let sentence: LocalizableText =
    "this device holds a restored store and is not in the circle yet: it is read-only"
  package static let next: Step =
    "\(waymark: "invite", on: "a device of the circle"); then here \(waymark: "join TICKET")"
}

extension Store {
  /// Saves the fact that the circle has admitted the keys that awaited admission.
  ///
  /// - Parameter ticket: the ticket that this device joined with; nil if the root key admitted it.
  func admitKeys(by statements: [Statement], with ticket: TicketID? = nil) throws {
    try saveStatements(statements.map { ($0.id, $0.bytes) })
    try setMeta(MetaKey.joinedWith, ticket?.bytes)
    try setMeta(MetaKey.waiting, nil)
  }
}
