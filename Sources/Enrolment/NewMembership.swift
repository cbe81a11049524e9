package import Platform
import Home
public import Records
public import Wire

/// The records of this device that a join would re-author in the new circle.
public struct JoinPreview: Hashable, Sendable {
  /// The numbers of visible records, by kind; kinds without records are left out.
  public let counts: [Count]

  /// The number of records of all kinds.
  public var total: Int { counts.reduce(0) { $0 + $1.count } }

  /// The number of records of one kind.
  public struct Count: Hashable, Sendable {
    /// The kind of the records.
    public let kind: RecordKind
    /// The number of records.
    public let count: Int
    /// The kind's plural name, as used in documents.
    package let plural: String
  }
}

/// The membership of this device after it has founded or joined a circle.
public struct NewMembership: Hashable, Sendable {
  /// The circle.
  public let circle: CircleID
  /// The device's public key, its id.
  public let device: DeviceKey
  /// The device's name in the circle: the requested name, with a number added if another member already has that name.
  public let name: String
  /// The number of records of a revoked device that were re-authored under its new keys.
  public internal(set) var rewritten = 0
  /// The folder to which keys that were found here without a store were moved; nil if there were none.
  public internal(set) var formerKeys: String?
  /// The member that this device was before it got new keys, if the circle has not revoked that member; otherwise nil.
  public internal(set) var formerMember: DeviceReference?
  /// When the premium ends that the circle has issued to itself at its founding; nil if it has issued none.
  package internal(set) var premiumUntil: Date?
  /// Whether the device had already joined with the same ticket, so that nothing was changed.
  public internal(set) var wasMember = false
}
