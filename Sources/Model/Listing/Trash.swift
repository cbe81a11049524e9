public import Foundation
import Home
import Records
import Replication
package import Storage
public import Wire

/// A record that is deleted, or hidden with one that is. It is kept, and ``Node/restore(_:_:)`` restores it.
public struct Deleted<Owner: Record>: Hashable, Sendable, Identifiable {
  /// The record before the deletion.
  public let record: Owner
  /// The deleted record that hides it; nil if it was deleted itself.
  public let hiddenBy: RecordReference?
  /// The time of the deletion, by the clock of the deleting device.
  public let deletedAt: Date
  /// The device that deleted it.
  public let deletedBy: DeviceReference

  public var id: UUID { record.id }
}

/// The deleted records of a store, and those hidden with them; all are kept.
package struct Trash {
  let store: Store

  package init(store: Store) { self.store = store }

  /// The records of a kind that are deleted, or hidden with what they belong to; the last deleted first.
  func records(_ kind: Kind) throws -> [(record: RecordRow, deletion: Deletion)] {
    var parents: [RecordKey: Deletion?] = [:]
    var found: [(record: RecordRow, deletion: Deletion)] = []
    try NameResolver(store: store, scope: .gone).forEach(kind) { record in
      if let deletion = try deletion(hiding: record, &parents) { found.append((record, deletion)) }
    }
    return found.sorted {
      $0.deletion.author.origin.stamp.clock.milliseconds > $1.deletion.author.origin.stamp.clock.milliseconds
    }
  }

  /// Caches parents, because many records in the trash belong to the same few others.
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
  /// The deleted records of a kind, for applications.
  package func deleted<Owner: Record>(
    _ type: Owner.Type, deviceName: (DeviceKey) -> String
  ) throws -> [Deleted<Owner>] {
    try records(Owner.kind).map { row, deletion in
      let device = deletion.author.log.device
      return Deleted(
        record: Owner(row), hiddenBy: deletion.record == row.key ? nil : try store.reference(deletion.record),
        deletedAt: Date(milliseconds: deletion.author.origin.stamp.clock.milliseconds),
        deletedBy: DeviceReference(device: device, name: deviceName(device)))
    }
  }
}

/// A deleted record, and the change set that deleted it.
struct Deletion {
  let record: RecordKey
  package let author: SetPosition
}

extension Store {
  /// The deletion that hides a record: its own or that of an ancestor; nil if there is none.
  func deletion(hiding record: RecordRow) throws -> Deletion? {
    var next: RecordRow? = record
    // Parents can be nested: an attachment belongs to an item, which belongs to a trip.
    for _ in 0..<4 {
      guard let record = next else { return nil }
      if record.life == false {
        return try lifeAuthor(of: record).map { Deletion(record: record.key, author: $0) }
      }
      next = try parent(of: record).flatMap { try self.record($0) }
    }
    return nil
  }
}
