public import Foundation
import Records
import Replication
import Storage
import Wire

/// A record that is deleted, or hidden with one that is. It is kept, and comes back with ``Node/restore(_:_:)``.
public struct Deleted<Owner: Record>: Hashable, Sendable, Identifiable {
  /// The record as it was.
  public let record: Owner
  /// The deleted record that hides it; nil if it was deleted itself.
  public let hiddenBy: RecordReference?
  /// When, by the clock of who deleted it.
  public let deletedAt: Date
  /// Who deleted it.
  public let deletedBy: DeviceReference

  public var id: UUID { record.id }
}

extension Node {
  /// The deleted records of a kind, the last deleted first.
  ///
  /// ```swift
  /// for trip in try await node.deleted(Trip.self) where trip.hiddenBy == nil {
  ///   try await node.restore(Trip.self, trip.id)
  /// }
  /// ```
  public func deleted<Owner: Record>(_ type: Owner.Type) throws -> [Deleted<Owner>] {
    try sayingWhy {
      var found: [Deleted<Owner>] = []
      try forEachDeleted(Owner.kind) { row, deletion in
        let device = deletion.author.log.device
        found.append(
          Deleted(
            record: Owner(row),
            hiddenBy: deletion.record == row.key ? nil : try historyReader.reference(deletion.record),
            deletedAt: Date(milliseconds: deletion.author.origin.stamp.clock.milliseconds),
            deletedBy: DeviceReference(device: device, name: name(of: device))))
      }
      return found.sorted { $0.deletedAt > $1.deletedAt }
    }
  }
}
