import Replication
import SQLite
import Storage
import Wire

/// Tells the judge what happens, in its words, and keeps the first objection until the event is over.
///
/// Judging changes nothing: the judge reads through connections of its own, and no disk fails it.
final class Watch {
  let judge = Judge()
  private(set) var objection: (any Error)?
  private var looks = 0

  /// One look in so many is at the whole store.
  private static let wholeLooks = 200

  func object(_ error: any Error) { if objection == nil { objection = error } }

  // MARK: Processes

  func started(_ process: Process) throws {
    let device = process.device
    guard device.isHonest else { return judge.introduced(device.name, device: device.key.bytes) }
    try quietly(device) {
      let connection = try Connection(on: process.volume, Device.storeFile)
      try judge.started(
        device.name, device: device.key.bytes, connection: connection, wall: device.wall,
        prefersSync: device.preference)
    }
  }

  func stopped(_ device: Device) throws { judge.stopped(device.name) }

  /// A process has handled something, with everything obeyed that followed from it.
  func stepped(_ device: Device) throws {
    guard device.isHonest else { return }
    looks += 1
    let isWhole = looks % Self.wholeLooks == 0
    judge.hasRoom(device.name, device.process?.isDiskFull == false)
    try quietly(device) {
      if isWhole {
        try judge.inspected(device.name, wall: device.wall)
      } else {
        try judge.looked(at: device.name, wall: device.wall)
      }
    }
  }

  /// The store of a process has changed, and will perhaps change again before its step is over.
  func passed(_ device: Device) throws {
    guard device.isHonest else { return }
    try quietly(device) { try judge.passed(device.name) }
  }

  func acknowledged(_ device: Device, _ sets: [ChangeSetID]) throws {
    try stepped(device)
    try judge.acknowledged(device.name, sets.map(\.bytes))
  }

  func wroteAgain(_ device: Device) throws { try stepped(device) }

  func restored(_ device: Device) throws { judge.mayHaveLost(device.name) }

  func cloned(_ device: Device, as twin: Device) throws {
    judge.cloned(device.name)
    judge.cloned(twin.name)
  }

  func preferred(_ device: Device) throws { judge.preferred(device.name, sync: device.preference) }

  /// Lets the judge read a disk that does not fail it.
  private func quietly(_ device: Device, _ body: () throws -> Void) throws {
    let faults = device.disk.faults
    device.disk.faults = DiskFaults()
    defer { device.disk.faults = faults }
    try body()
  }

  // MARK: Sessions

  func sent(_ message: [UInt8], from sender: Device, to receiver: Device, on link: Link) throws {
    guard sender.isHonest else { return }
    if !receiver.isHonest { judge.introduced(receiver.name, device: receiver.key.bytes) }
    judge.hasRoom(sender.name, sender.process?.isDiskFull == false)
    try quietly(sender) {
      try judge.sent(sender.name, to: receiver.name, link: link.id.rawValue, message, wall: sender.wall)
    }
  }

  /// A process is about to handle a message.
  func arrived(_ message: [UInt8], from sender: Device, to receiver: Device, on link: Link) {
    guard receiver.isHonest else { return }
    if !sender.isHonest { judge.introduced(sender.name, device: sender.key.bytes) }
    judge.arrived(sender.name, to: receiver.name, link: link.id.rawValue, message, wall: receiver.wall)
  }

  func claimedInSync(_ device: Device, with peers: [Device]) throws {
    guard device.isHonest else { return }
    judge.hasRoom(device.name, device.process?.isDiskFull == false)
    let session = peers.first.flatMap { device.process?.replicator.replica.session(with: $0.key) }
    try quietly(device) {
      try judge.claimedInSync(
        device.name, withOneOf: peers.filter(\.isHonest).map(\.name),
        openLink: session.flatMap { $0[.records].isOpen ? $0.link.rawValue : nil })
    }
  }

  /// All faults are over, and these should be the same now.
  func healed(_ members: [Device], premium: [Device]) throws {
    try judge.healed(members.map(\.name), premium: premium.map(\.name))
  }
}
