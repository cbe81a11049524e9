import Home
import Membership
import Model
import NodeRuntime
import Reasons
import Replication
import Storage
import Wire

/// Compares a lane with a peer's: first the heads, then the digests, then the records in each bucket whose digests
/// differ.
struct LaneComparison {
  let lane: Lane
  let peer: DeviceKey

  private var inquiry: PeerInquiry { PeerInquiry(peer: peer) }

  func run(on node: NodeCore) async -> PeerVerification.Lane {
    do {
      var verdict = try await attempt(on: node)
      for _ in 1..<Self.comparisonsMax where verdict == nil {
        verdict = try await attempt(on: node)
      }
      return verdict ?? .notInSync(behind: 0, ahead: 0)
    } catch let failure as WaymarkError {
      return .notCompared(reason: failure.reason, text: failure.message, next: failure.next)
    } catch {
      return .notCompared(
        reason: .store, text: "The store can't be read: \(error).", next: .waymark("verify --deep"))
    }
  }

  private static let comparisonsMax = 3
  private static let differencesMax = 20

  /// Makes one comparison. Returns nil if something was folded on either side in the meantime.
  private func attempt(on node: NodeCore) async throws -> PeerVerification.Lane? {
    guard case .heads(let heads) = try await inquiry.answer(lane, .heads, on: node).content else {
      return nil
    }
    let (mine, theirs) = (node.replica[lane].heads, Heads(heads))
    guard mine.foldedHash == theirs.foldedHash else {
      return .notInSync(
        behind: Int(clamping: mine.missing(theirs)), ahead: Int(clamping: theirs.missing(mine)))
    }
    let answer = try await inquiry.answer(lane, .digests, on: node)
    let own = try node.store.answer(lane, .digests)
    guard answer.folded == own.folded, case .digests(let here) = own.content,
      case .digests(let there) = answer.content
    else { return nil }
    guard here != there else { return .equal }
    return try await difference(here: here, there: there, at: own.folded, on: node)
      .map { .differs($0) }
  }

  private func difference(
    here: [Bytes32], there: [Bytes32], at folded: Bytes32, on node: NodeCore
  ) async throws -> PeerVerification.Difference? {
    var records: [RecordKey] = []
    var (isCut, wrongHere, wrongThere) = (false, [String](), [String]())
    for bucket in UInt8.min...UInt8.max where here[Int(bucket)] != there[Int(bucket)] {
      guard records.count < Self.differencesMax else {
        isCut = true
        break
      }
      guard
        let mine = try await bucketHashes(
          at: folded, on: node, { try node.store.answer(lane, .bucket(bucket, after: $0)) }),
        let theirs = try await bucketHashes(
          at: folded, on: node, { try await inquiry.answer(lane, .bucket(bucket, after: $0), on: node) })
      else { return nil }
      let keys = Set(mine.keys).union(theirs.keys).filter { mine[$0] != theirs[$0] }
      records += keys.sorted()
      if mine.sum != here[Int(bucket)] { wrongHere.append(hexadecimal([bucket])) }
      if theirs.sum != there[Int(bucket)] { wrongThere.append(hexadecimal([bucket])) }
    }
    let named = records.prefix(Self.differencesMax)
    return PeerVerification.Difference(
      records: named.map { RecordReference($0, in: node.store) },
      hasMore: isCut || named.count < records.count,
      digestWrongHere: wrongHere, digestWrongThere: wrongThere)
  }

  /// Returns the hashes of all records in a bucket; nil if something was folded in the meantime.
  private func bucketHashes(
    at folded: Bytes32, on node: NodeCore, _ page: (RecordKey?) async throws -> Answer
  ) async throws -> [RecordKey: Bytes32]? {
    var hashes: [RecordKey: Bytes32] = [:]
    var last: RecordKey?
    while true {
      try node.checkOpen()
      let answer = try await page(last)
      guard answer.folded == folded, case .bucket(let records) = answer.content else { return nil }
      for record in records { hashes[record.key] = record.hash }
      guard hashes.count <= Limits.inventoryRecordsMax, !answer.isDone else { return hashes }
      last = records.last?.key
      await Task.yield()
    }
  }
}

extension [RecordKey: Bytes32] {
  fileprivate var sum: Bytes32 { values.reduce(into: Digest.empty) { $0.add($1) }.sum }
}

extension Heads {
  /// Returns the number of change sets that are folded in the other heads but not in these.
  fileprivate func missing(_ other: Heads) -> UInt64 {
    other.sorted.reduce(0) { sum, theirs in
      let mine = (tips(of: theirs.log).first { $0.id == theirs.id } ?? self[theirs.log])?.foldedSequence ?? 0
      return sum &+ (theirs.foldedSequence > mine ? theirs.foldedSequence - mine : 0)
    }
  }
}
