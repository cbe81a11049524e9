public import Platform
import Home
import LogStorage
import Records
import Replication
package import Storage
public import Wire

/// A record that is deleted, or hidden because a record that it belongs to is deleted. It is kept, and
/// ``Node/restore(_:)->Owner?`` restores it; a hidden record is visible again once the record that hides it is
/// restored.
public struct Deleted<Owner: Record>: Hashable, Sendable, Codable, Identifiable {
  /// The record as it was before the deletion.
  public let record: Owner
  /// The deleted record that hides this one; nil if this record itself was deleted.
  public let hiddenBy: RecordReference?
  /// The time of the deletion, according to the clock of the device that deleted the record.
  public let deletedDate: Date
  /// The device that deleted the record.
  public let deletedBy: DeviceReference

  public var id: Owner.ID { record.id }
}

/// A record of any kind that is deleted, or hidden because a record that it belongs to is deleted; see ``Deleted``.
public struct DeletedRecord: Hashable, Sendable, Codable, Identifiable {
  /// The record, with its name before the deletion.
  public let record: RecordReference
  /// The deleted record that hides this one; nil if this record itself was deleted.
  public let hiddenBy: RecordReference?
  /// The time of the deletion, according to the clock of the device that deleted the record.
  public let deletedDate: Date
  /// The device that deleted the record.
  public let deletedBy: DeviceReference

  public var id: UUID { record.id }
}

/// The deleted records of a store and the records that are hidden with them. The store keeps all of them.
package struct Trash {
  let store: Store

  package init(store: Store) { self.store = store }

  /// The kinds whose deleted records are in the trash. To a person, a setting that was unset is not deleted: its
  /// default applies again.
  var kinds: [Kind] { store.schema.kinds.filter { $0.lane == .records } }

  /// Returns the records of a kind that are deleted, or hidden because a record that they belong to is deleted. The
  /// most recently deleted come first. Erased records of which nothing is left are not in the trash.
  func records(_ kind: Kind) throws -> [(record: RecordRow, deletion: Deletion)] {
    var parents: [RecordKey: Deletion?] = [:]
    var found: [(record: RecordRow, deletion: Deletion)] = []
    try NameResolver(store: store, scope: .gone).forEach(kind) { record in
      guard try store.completeErasure(of: record) == nil else { return }
      if let deletion = try deletion(hiding: record, &parents) { found.append((record, deletion)) }
    }
    return found.sorted {
      $0.deletion.author.origin.stamp.clock.milliseconds > $1.deletion.author.origin.stamp.clock.milliseconds
    }
  }

  /// Returns the deleted and hidden records of all kinds, the most recently deleted first. The parts of files and
  /// addresses, which are not shown as records, are left out.
  func records() throws -> [(record: RecordRow, deletion: Deletion)] {
    try kinds.filter { $0 != Kind.address }.flatMap(records).sorted {
      $0.deletion.author.origin.stamp.clock > $1.deletion.author.origin.stamp.clock
    }
  }

  /// Returns the deletion that hides a record. The result is cached for each parent, because many records in the
  /// trash belong to the same few parents.
  private func deletion(hiding record: RecordRow, _ parents: inout [RecordKey: Deletion?]) throws -> Deletion?
  {
    guard record.life != false, let parent = store.parent(of: record) else {
      return try store.deletion(hiding: record)
    }
    if let known = parents[parent] { return known }
    let found = try store.deletion(hiding: record)
    parents[parent] = .some(found)
    return found
  }
}

extension Trash {
  /// Returns the deleted and hidden records of a kind, in the form that applications receive.
  package func deleted<Owner: Record>(
    _ type: Owner.Type, deviceName: (DeviceKey) -> String
  ) throws -> [Deleted<Owner>] {
    try records(Owner.kind).map { row, deletion in
      let device = deletion.author.log.device
      return Deleted(
        record: Owner(row), hiddenBy: deletion.record == row.key ? nil : try store.reference(deletion.record),
        deletedDate: Date(milliseconds: deletion.author.origin.stamp.clock.milliseconds),
        deletedBy: DeviceReference(device: device, name: deviceName(device)))
    }
  }
}

extension Trash {
  /// Returns the deleted and hidden records of all kinds, in the form that applications receive.
  package func deleted(deviceName: (DeviceKey) -> String) throws -> [DeletedRecord] {
    try records().map { row, deletion in
      let device = deletion.author.log.device
      return DeletedRecord(
        record: try store.reference(row.key),
        hiddenBy: deletion.record == row.key ? nil : try store.reference(deletion.record),
        deletedDate: Date(milliseconds: deletion.author.origin.stamp.clock.milliseconds),
        deletedBy: DeviceReference(device: device, name: deviceName(device)))
    }
  }
}

/// The key of a deleted record, and the position of the change set that deleted it.
struct Deletion {
  let record: RecordKey
  package let author: SetPosition
}

extension Store {
  /// Returns the deletion that hides a record: the record's own, or that of a record that it belongs to. Nil if there
  /// is none.
  func deletion(hiding record: RecordRow) throws -> Deletion? {
    var next: RecordRow? = record
    // Parents can be nested: an attachment belongs to an item, which belongs to a trip. Each belongs to another kind
    // than its parent, so there is no cycle.
    while let record = next {
      if record.life == false {
        return try lifeAuthor(of: record).map { Deletion(record: record.key, author: $0) }
      }
      next = try parent(of: record).flatMap { try self.record($0) }
    }
    return nil
  }
}
