import Membership
import Replication
import Wire

/// A store was restored where its keys were not: this device has new ones, which the circle does not know yet. It
/// shows what it holds, and writes and sends nothing until it has joined.
struct AwaitedAdmission: Hashable, Sendable {
  let device: DeviceKey
  let name: String

  init(device: DeviceKey, name: String) {
    self.device = device
    self.name = name
  }

  /// The key and the name, as a store keeps them.
  var bytes: [UInt8] { device.bytes + Array(name.utf8) }

  init?(bytes: [UInt8]) {
    guard bytes.count >= Bytes32.count, let device = DeviceKey(bytes: Array(bytes.prefix(Bytes32.count)))
    else { return nil }
    self.init(device: device, name: String(decoding: bytes.dropFirst(Bytes32.count), as: UTF8.self))
  }

  static let sentence =
    "this device holds a restored store and is not in the circle yet: it can be read, not written"
  static let next: Step =
    "\(waymark: "invite", on: "a device of the circle"); then here \(waymark: "join TICKET")"
}

extension Node {
  /// Refuses, in words, what only a member of the circle can do.
  func checkAdmitted() throws {
    try checkKeysAdmitted()
    try checkNotExcluded()
  }

  /// Refuses, in words, what needs a device that is not out of the circle.
  func checkNotExcluded() throws {
    guard let exclusion else { return }
    throw WaymarkError.failed(
      exclusion.reason, exclusion.text.capitalizedFirst + ".",
      next: exclusion.next ?? .waymark("members"))
  }

  /// Refuses, in words, what needs keys that a circle has taken in, if only once.
  func checkKeysAdmitted() throws {
    guard waiting != nil else { return }
    throw WaymarkError.failed(
      .notAdmitted, AwaitedAdmission.sentence.capitalizedFirst + ".", next: AwaitedAdmission.next)
  }
}
