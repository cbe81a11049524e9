public import Platform
import Home
public import Model
import Reasons
public import Records
public import Wire

/// The preview or the result of erasing records, a field, or what is in the trash.
///
/// Erased values are gone from this device, and from every other device of the circle as soon as it has received the
/// erase. Copies outside the circle's stores are not reached: exports, the backups that ``backups`` lists and others,
/// images of disks, and blocks that flash memory has replaced.
public struct EraseSummary: Hashable, Sendable, Codable {
  /// Whether this is a preview, so that nothing was erased.
  public let isPreview: Bool
  /// The records whose values were erased or, in a preview, would be. The records that were named come first.
  ///
  /// The parts of files, and the addresses of organizations, are erased with the records that they are part of and not
  /// listed.
  public let records: [ErasedRecord]
  /// The field that was erased; nil if whole records were erased.
  public let field: String?
  /// The operation that erased them; nil in a preview, and if there was nothing to erase.
  public let operation: OperationID?
  /// The members that are known to hold change sets with the erased values.
  public let devices: [Holder]
  /// The backups in this node's backups folder that hold the erased values. They are not changed.
  public let backups: [HeldBackup]
  /// Whether the other devices hide the records at once but keep their values for seven days, because more than a
  /// quarter of a kind is erased. See ``MassErase``.
  public let isHeldElsewhere: Bool

  /// A record whose values were erased.
  public struct ErasedRecord: Hashable, Sendable, Codable, Identifiable {
    /// The kind of the record.
    public let kind: RecordKind
    public let id: UUID
    /// The name that the record had; nil if it had none.
    public let name: String?
    /// Whether the record was in the trash.
    public let isDeleted: Bool
    /// The record with which this one was erased, because it belongs to it; nil if this one was named.
    public let with: RecordReference?

    /// Returns the id as that of a record of a kind; nil if the record is of another kind.
    public func id<Owner: Record>(as type: Owner.Type) -> Owner.ID? { Identifier(id, kind) }

    private enum CodingKeys: String, CodingKey {
      case kind
      case id
      case name
      case isDeleted = "deleted"
      case with
    }
  }

  /// A member that holds change sets with the erased values.
  public struct Holder: Hashable, Sendable, Codable, Identifiable {
    /// The public key that identifies the device.
    public let device: DeviceKey
    /// The name of the device.
    public let name: String
    /// Whether the device is known to have received the erase.
    public let hasErased: Bool

    public var id: DeviceKey { device }

    private enum CodingKeys: String, CodingKey {
      case device
      case name
      case hasErased = "erased"
    }
  }

  /// A backup that holds the erased values.
  public struct HeldBackup: Hashable, Sendable, Codable {
    /// The path of the file or, for a store that was replaced, of the folder that holds it.
    public let path: String
    /// When the backup was made.
    public let created: Date
  }

  private enum CodingKeys: String, CodingKey {
    case isPreview = "preview"
    case records
    case field
    case operation
    case devices
    case backups
    case isHeldElsewhere = "heldElsewhere"
  }
}

extension EraseSummary {
  /// The word that the user has to type to confirm: the name of the record that was named, or else the number of
  /// records.
  package var confirmation: String {
    let named = records.filter { $0.with == nil }
    guard named.count == 1, let only = named.first else { return "\(records.count)" }
    let name = only.name?.trimmed ?? ""
    return name.isEmpty ? String(only.id.uuidString.prefix(8)) : name
  }

  /// What is erased, as the object of a sentence: `trip “Rome” and 3 records that belong to it`.
  package var subject: String {
    let named = records.filter { $0.with == nil }
    let others = records.count - named.count
    guard named.count == 1, let only = named.first else { return plural(records.count, "record") }
    let record = "\(only.kind) “\(shortened(only.name ?? only.id.uuidString))”"
    if let field { return "\(field) of \(record), and all earlier values of it" }
    guard others > 0 else { return record }
    return "\(record) and \(plural(others, "record")) that \(others == 1 ? "belongs" : "belong") to it"
  }
}
