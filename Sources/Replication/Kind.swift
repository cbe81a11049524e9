// Protocol/change-set.md, "Kinds and fields".

package import Wire

/// The number of a kind of record. The range in which it lies determines the lane and the merge class of the kind, so
/// that a node can fold kinds that it does not know.
package struct KindNumber: Hashable, Comparable, Sendable {
  package let rawValue: UInt32

  /// Creates the number of a kind; returns nil if it lies outside the ranges that the protocol defines.
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
  /// Each field is merged by itself, and its newest write wins.
  case fieldByField
  /// The record is merged as one value. The put that states the latest time of change wins; see `WholeRecordRank`.
  case wholeRecord
}

/// The number of a field within its kind; 0 is the record's life.
package typealias FieldNumber = UInt32

package enum Fields {
  /// The field that says whether the record is alive (true) or dead (false). Only inserts, deletes and restores write
  /// it.
  package static let life: FieldNumber = 0
  /// In whole-record kinds, the field with the time of change that the writer states, in integer milliseconds.
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
