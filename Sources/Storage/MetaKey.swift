/// Keys of the values stored in `meta`, in addition to the log and the records.
package enum MetaKey {
  package static let incarnation = "incarnation"
  /// The device whose incarnations are exhausted, if it is this one.
  package static let spent = "incarnations-spent"
  /// The newest sets of our own logs that may have been sent; see `UnsentLogs`.
  package static let unsent = "unsent-logs"
  /// The lower bound of gate time, in milliseconds, as text.
  package static let gateFloor = "gate-floor"
  /// Which devices have acknowledged a revocation: its id and theirs in hexadecimal, one pair a line.
  package static let acknowledged = "heard-revocations"
  /// The progress of the background check of the store; see `StoreCheck`.
  package static let storeCheck = "store-check"

  // Values of the node, not of its replicator.

  /// One byte: whether the person has turned on the sync of records.
  package static let preference = "sync-preference"
  /// Addresses that the person has added, one a line.
  package static let addresses = "peer-addresses"
  /// Devices that the person has paused, in hexadecimal, one a line.
  package static let paused = "paused-peers"
  /// Records deleted by operations of other devices, as JSON.
  package static let deletions = "deletions"
  /// For each lane, the number of the newest set when the device was last in sync.
  package static let seen = "seen-sets"
  /// When and where each peer was last connected.
  package static let peerContacts = "seen-peers"
  /// The time in the newest accepted beacon of each device: a device and a time a line.
  package static let beaconTimes = "beacon-times"
  /// Local names for other devices: a device and a name a line.
  package static let peerNames = "peer-names"
  /// The end of a mock purchase.
  package static let mockPurchase = "mock-purchase"
  /// The keys of a restored store that wait for readmission to the circle; see `AwaitedAdmission`.
  package static let waiting = "awaited-admission"
  /// The id of the ticket with which this device joined.
  package static let joinedWith = "joined-with"
  /// One byte: whether onboarding was completed on this device.
  package static let completedOnboarding = "completed-onboarding"

  /// The person's preferences on this device, which a backup includes.
  package static let choices = [preference, addresses, paused, completedOnboarding, peerNames]
}
