public import Records
public import Wire

/// What this device holds of its own that would be written again in the circle it joins.
public struct JoinPreview: Hashable, Sendable {
  /// Visible records by kind, without empty ones.
  public let counts: [Count]

  /// How many records in all.
  public var total: Int { counts.reduce(0) { $0 + $1.count } }

  /// The records of one kind.
  public struct Count: Hashable, Sendable {
    /// The kind of the records.
    public let kind: RecordKind
    /// How many of them.
    public let count: Int
    /// The plural of the kind, as documents have it.
    package let plural: String
  }
}

/// What a device is after it has founded or joined a circle.
public struct NewMembership: Hashable, Sendable {
  /// The circle it is in.
  public let circle: CircleID
  /// The key that names it.
  public let device: DeviceKey
  /// What the circle calls it: the name that was asked for, with a number if another member has it.
  public let name: String
  /// Records of a revoked device that were written again under its new keys.
  public internal(set) var rewritten = 0
  /// Where keys are now that were here without a store, if there were any.
  public internal(set) var keysAside: String?
  /// The member that this device was before, if it stays in the circle until it is revoked.
  public internal(set) var formerMember: DeviceReference?
  /// Whether the device had joined with the same ticket before; then nothing was done.
  public internal(set) var wasMember = false
}
