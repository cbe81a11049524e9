/// Names of values that are stored in addition to the log and the records.
package enum MetaKey {
  package static let incarnation = "incarnation"
  /// The device that has begun all the incarnations it may, if it is this one.
  package static let spent = "incarnations-spent"
  /// Of own logs the newest set that may have been sent; see `UnsentLogs`.
  package static let unsent = "unsent-logs"
  /// The moment below which gate time never falls, in milliseconds, as text.
  package static let gateFloor = "gate-floor"
  /// Which devices are known to hold a revocation: its id and theirs in hexadecimal, a line each.
  package static let acknowledged = "heard-revocations"
  /// How far the background check of the store has come; see `StoreCheck`.
  package static let storeCheck = "store-check"

  // What a node keeps beside what its replicator does.

  /// One byte: whether the person wants records to sync.
  package static let preference = "sync-preference"
  /// Addresses the person gave, a line each.
  package static let addresses = "peer-addresses"
  /// Devices the person paused, in hexadecimal, a line each.
  package static let paused = "paused-peers"
  /// What operations of other devices deleted, as JSON.
  package static let deletions = "deletions"
  /// For each lane the newest set number when the device was last in sync.
  package static let seen = "seen-sets"
  /// When and where each peer was last connected.
  package static let peerContacts = "seen-peers"
  /// The time in the last beacon that was believed of each device, each line a device and that time.
  package static let beaconTimes = "beacon-times"
  /// What the person calls other devices on this one, each line a device and its name.
  package static let peerNames = "peer-names"
  /// The end of a mock purchase.
  package static let mockPurchase = "mock-purchase"
  /// The keys of a restored store that wait for a circle to take them in; see `AwaitedAdmission`.
  package static let waiting = "awaited-admission"
  /// The id of the ticket with which this device joined.
  package static let joinedWith = "joined-with"
  /// One byte: whether this very device completed onboarding.
  package static let completedOnboarding = "completed-onboarding"

  /// The person's choices on this device, which a backup takes along.
  package static let choices = [preference, addresses, paused, completedOnboarding, peerNames]
}
