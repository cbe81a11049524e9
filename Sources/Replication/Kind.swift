// Protocol/change-set.md, "Kinds and fields".

package import Wire

/// The number of a kind of record. Its range gives lane and merge class, so that a node can fold kinds it
/// does not know.
package struct KindNumber: Hashable, Comparable, Sendable {
  package let rawValue: UInt32

  /// Nil outside the ranges that any version of the protocol has given a meaning.
  package init?(_ rawValue: UInt64) {
    guard (1...12_287).contains(rawValue) else { return nil }
    self.rawValue = UInt32(rawValue)
  }

  package var lane: Lane { rawValue <= 8_191 ? .records : .settings }

  package var mergeClass: MergeClass { (4_096...8_191).contains(rawValue) ? .wholeRecord : .fieldByField }

  package static func < (left: KindNumber, right: KindNumber) -> Bool { left.rawValue < right.rawValue }
}

/// How two writes to one record meet.
package enum MergeClass: Sendable {
  /// Each field takes its newest write.
  case fieldByField
  /// The record is one value; the writer's own time of change decides.
  case wholeRecord
}

/// The number of a field within its kind; 0 is the record's life.
package typealias FieldNumber = UInt32

package enum Fields {
  /// Alive (true) or dead (false): written by insert, delete and restore only.
  package static let life: FieldNumber = 0
  /// The field of a whole-record kind that holds its own time of change, integer milliseconds.
  package static let wholeRecordUpdatedAt: FieldNumber = 1
  package static let max: FieldNumber = 65_535
}

/// Names a record: kinds have id spaces of their own.
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
