public import Platform
public import Model
public import Records

/// What a watch fired for.
public enum ChangeCause: Hashable, Sendable {
  /// The watch has just begun.
  case start
  /// An operation of this device or of another one.
  case operation(OperationChange)
  /// Records whose values changed without an operation: values that were missing have arrived, or an erase took effect.
  /// At most 16 records are listed.
  case values([RecordReference])
  /// Further operations, which are not listed: there were too many of them, or too many since the watch last read.
  case more
  /// The state of the node: connections, the circle, premium, transfers of files, the disk.
  case nodeState
  /// The passing of time, or a change of the machine's clock or time zone.
  case time
  /// Anything may have changed, because the node rebuilt its tables.
  case rebuild
}

/// An operation, and the records that it wrote.
public struct OperationChange: Hashable, Sendable, Identifiable {
  /// The action, its device and its time, as in the history.
  public let operation: OperationReference
  /// The first records that it wrote, at most 16. If it wrote to records of the kinds that the query reads, only these
  /// are listed.
  public let records: [RecordChange]
  /// The number of further records.
  public let otherRecords: Int

  public var id: OperationReference.ID { operation.id }
}

/// What an operation did to one record.
public struct RecordChange: Hashable, Sendable {
  /// The kind of the record.
  public let kind: RecordKind
  /// The id of the record.
  public let id: UUID
  /// Whether the operation added, changed, deleted, restored or erased the record.
  public let change: Change
  /// The names of the fields that were written; empty for a record that was added, deleted, restored or erased.
  public let fields: [String]

  /// Returns the id as that of a record of a kind; nil if the record is of another kind.
  public func id<Owner: Record>(as type: Owner.Type) -> Owner.ID? { Identifier(id, kind) }

  /// What can happen to a record.
  public enum Change: String, Hashable, Sendable, CaseIterable {
    /// The record is new.
    case added
    /// Fields of the record were written.
    case changed
    /// The record was deleted.
    case deleted
    /// The record was restored.
    case restored
    /// Values of the record were erased.
    case erased
  }
}

// MARK: Text

extension ChangeCause: CustomStringConvertible {
  /// The cause in one line, such as `trip.edit on Alice’s phone: changed trip 3f0c… (name, notes)`.
  public var description: String {
    switch self {
    case .start: "the start of the watch"
    case .operation(let change): change.description
    case .values(let records):
      "values that arrived or were erased: " + records.map { "\($0.kind) \($0.id)" }.joined(separator: ", ")
    case .more: "more operations"
    case .nodeState: "a change of the node’s state"
    case .time: "the passing of time"
    case .rebuild: "a rebuild of the tables"
    }
  }
}

extension OperationChange: CustomStringConvertible {
  /// The operation in one line.
  public var description: String {
    let device = operation.isOwn ? "this device" : operation.deviceName
    var parts = records.map(\.description)
    if otherRecords > 0 { parts.append("\(otherRecords) more") }
    return "\(operation.verb) on \(device): \(parts.joined(separator: ", "))"
  }
}

extension RecordChange: CustomStringConvertible {
  /// The change in a few words.
  public var description: String {
    let names = fields.isEmpty ? "" : " (\(fields.joined(separator: ", ")))"
    return "\(change.rawValue) \(kind) \(id)\(names)"
  }
}
