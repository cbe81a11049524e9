// Protocol/merge.md, "Digest"

import LogStorage
package import Replication
import SQLite
package import Wire

/// The digest of each lane. It is kept as 256 sums, one for each first byte of a record id, so that a difference
/// between two replicas can be located.
package final class Digests {
  /// 256 sums per lane, one lane after the other.
  private var sums: [Digest] = []
  private var totals: [Digest] = []
  private var isChanged: [Bool] = []
  private let connection: Connection

  static let bucketCount = 256

  init(_ connection: Connection) throws {
    self.connection = connection
    try reload()
  }

  struct RollbackState {
    fileprivate let sums: [Digest]
    fileprivate let totals: [Digest]
  }

  var rollbackState: RollbackState { RollbackState(sums: sums, totals: totals) }

  func restore(_ state: RollbackState) {
    (sums, totals) = (state.sums, state.totals)
    isChanged = Array(repeating: false, count: sums.count)
  }

  func reload() throws {
    sums = Array(repeating: .empty, count: Self.bucketCount * Lane.allCases.count)
    totals = Array(repeating: .empty, count: Lane.allCases.count)
    isChanged = Array(repeating: false, count: sums.count)
    try connection.with("SELECT lane, bucket, sum FROM digests") { row in
      while try row.step() {
        guard let lane = Lane(rawValue: UInt8(truncatingIfNeeded: row.integer(0))),
          (0..<Int64(Self.bucketCount)).contains(row.integer(1)), let sum = Bytes32(row.bytes(2))
        else { throw StoreError.damaged("a digest is invalid") }
        sums[Self.first(lane) + Int(row.integer(1))] = Digest(sum: sum)
        totals[Int(lane.rawValue)].add(sum)
      }
    }
  }

  package subscript(lane: Lane) -> Digest { totals[Int(lane.rawValue)] }

  package func buckets(_ lane: Lane) -> [Digest] {
    Array(sums[Self.first(lane)..<Self.first(lane) + Self.bucketCount])
  }

  func add(_ hash: Bytes32, _ record: RecordKey) {
    let index = changing(record)
    sums[index].add(hash)
    totals[Int(record.kind.lane.rawValue)].add(hash)
  }

  func remove(_ hash: Bytes32, _ record: RecordKey) {
    let index = changing(record)
    sums[index].remove(hash)
    totals[Int(record.kind.lane.rawValue)].remove(hash)
  }

  private func changing(_ record: RecordKey) -> Int {
    let index = Self.first(record.kind.lane) + Int(record.id.raw.word0 >> 56)
    isChanged[index] = true
    return index
  }

  private static func first(_ lane: Lane) -> Int { Int(lane.rawValue) * bucketCount }

  /// Saves the sums that changed, in the transaction that changed them.
  func save() throws {
    try connection.with("INSERT OR REPLACE INTO digests(lane, bucket, sum) VALUES (?1, ?2, ?3)") { row in
      for index in sums.indices where isChanged[index] {
        try row.bind(1, index / Self.bucketCount)
        try row.bind(2, index % Self.bucketCount)
        try row.bind(3, sums[index].sum.bytes)
        try row.run()
        isChanged[index] = false
      }
    }
  }
}
