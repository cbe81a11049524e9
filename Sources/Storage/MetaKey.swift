/// The keys of the values stored in the table `meta`, in addition to the log and the records.
package enum MetaKey {
  package static let incarnation = "incarnation"
  /// The device that can begin no further incarnation. The value is ignored unless it is this device.
  package static let spent = "incarnations-spent"
  /// For each of our own logs, the newest set that may have been sent; see `UnsentLogs`.
  package static let unsent = "unsent-logs"
  /// The lower bound of gate time, in milliseconds, as text.
  package static let gateFloor = "gate-floor"
  /// Which devices have acknowledged which revocations: the id of a revocation and a device, in hexadecimal, one pair
  /// per line.
  package static let acknowledged = "heard-revocations"
  /// The progress of the background check of the store; see `StoreCheck`.
  package static let storeCheck = "store-check"
  /// Which files this device keeps, as text; see `FileKeepPolicy`.
  package static let keepPolicy = "file-keep-policy"
  /// Whether values were erased that may still be in the write-ahead log; see `Store.isErasePending`. Unlike the other
  /// keys, this one is stored without a prefix.
  static let erasePending = "erase_pending"

  // The following values belong to the node, not to its replicator.

  /// Whether the user has turned the sync of records on or off, as one byte; no value if neither.
  package static let preference = "sync-preference"
  /// The addresses that the user has added, one per line.
  package static let addresses = "peer-addresses"
  /// The devices that the user has paused, in hexadecimal, one per line.
  package static let paused = "paused-peers"
  /// Records deleted by operations of other devices, as JSON.
  package static let deletions = "deletions"
  /// For each lane, the number of the newest set that was stored when the device was last in sync; see `SyncedSets`.
  package static let seen = "seen-sets"
  /// When and where each peer was last connected.
  package static let peerContacts = "seen-peers"
  /// For each device, the time in its newest accepted beacon: one device and its time per line.
  package static let beaconTimes = "beacon-times"
  /// Local names for other devices: one device and its name per line.
  package static let peerNames = "peer-names"
  /// When a mock purchase of premium expires.
  package static let mockPurchase = "mock-purchase"
  /// The new device key, and the device name, of a restored store that waits for readmission to the circle; see
  /// `AwaitedAdmission`.
  package static let waiting = "awaited-admission"
  /// The records of a restored store that the store that it replaced had erased: kind and id in hexadecimal, one record
  /// per line.
  package static let erasedBefore = "erased-before-restore"
  /// The id of the ticket with which this device joined.
  package static let joinedWith = "joined-with"
  /// Whether onboarding was completed on this device, as one byte.
  package static let completedOnboarding = "completed-onboarding"

  /// The schemas of apps, as an encoded array; see `Store.apps`.
  package static let apps = "apps"

  /// The keys of what belongs to this device rather than to the circle and is part of a backup: the user's preferences,
  /// and the kinds of apps.
  package static let choices = [preference, addresses, paused, completedOnboarding, peerNames, apps]
}
