// Protocol/change-set.md, "Kinds and fields".

package import Wire

/// The number of a kind of record. Its range determines lane and merge class, so that a node can fold kinds that it
/// does not know.
package struct KindNumber: Hashable, Comparable, Sendable {
  package let rawValue: UInt32

  /// Nil outside the ranges that the protocol defines.
  package init?(_ rawValue: UInt64) {
    guard (1...12_287).contains(rawValue) else { return nil }
    self.rawValue = UInt32(rawValue)
  }

  package var lane: Lane { rawValue <= 8_191 ? .records : .settings }

  package var mergeClass: MergeClass { (4_096...8_191).contains(rawValue) ? .wholeRecord : .fieldByField }

  package static func < (left: KindNumber, right: KindNumber) -> Bool { left.rawValue < right.rawValue }
}

/// How writes to one record are merged.
package enum MergeClass: Sendable {
  /// Each field shows its newest write.
  case fieldByField
  /// The record is one value. The put with the latest stated time of change shows; see `WholeRecordRank`.
  case wholeRecord
}

/// The number of a field within its kind; 0 is the record's life.
package typealias FieldNumber = UInt32

package enum Fields {
  /// Alive (true) or dead (false). Written only by insert, delete and restore.
  package static let life: FieldNumber = 0
  /// In whole-record kinds, the time of change that the writer states, in integer milliseconds.
  package static let wholeRecordUpdatedAt: FieldNumber = 1
  package static let max: FieldNumber = 65_535
}

/// Identifies a record. Each kind has its own id space.
package struct RecordKey: Hashable, Comparable, Sendable {
  package let kind: KindNumber
  package let id: RecordID

  package init(kind: KindNumber, id: RecordID) {
    self.kind = kind
    self.id = id
  }

  package static func < (left: RecordKey, right: RecordKey) -> Bool {
    left.kind != right.kind ? left.kind < right.kind : left.id < right.id
  }
}
