import Replication
import Wire

/// Tells the judge what happens, in its words, and keeps the first objection until the event is over.
final class Watch {
  private(set) var objection: (any Error)?

  func object(_ error: any Error) { if objection == nil { objection = error } }

  func started(_ process: Process) throws {}
  func stopped(_ device: Device) throws {}
  func committed(_ device: Device) throws {}
  func acknowledged(_ device: Device, _ sets: [ChangeSetID]) throws {}
  func claimedInSync(_ device: Device, with peer: DeviceKey) throws {}
  func restored(_ device: Device) throws {}
  func cloned(_ device: Device, as twin: Device) throws {}
  func preferred(_ device: Device) throws {}
  func wroteAgain(_ device: Device) throws {}
  func sent(_ message: [UInt8], from sender: Device, to receiver: Device, at now: Moment) throws {}
}
