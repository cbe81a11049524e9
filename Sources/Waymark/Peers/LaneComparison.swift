import Membership
import Replication
import Storage
import Wire

/// What a comparison of one lane with one peer came to.
enum LaneVerdict: Sendable {
  case equal
  /// Change sets are on their way, or wait for their time.
  case notInSync(behind: UInt64, ahead: UInt64)
  /// The same change sets, and other data.
  case differs(LaneDifference)
  /// The lane is closed, or the peer did not answer.
  case unknown(WaymarkError)
}

/// Where two stores that folded the same change sets differ.
struct LaneDifference: Sendable {
  /// Records that are stored otherwise, in order, up to a number that is worth naming.
  var records: [RecordKey] = []
  var isCut = false
  /// First bytes of record ids of which a digest is not the sum of its records.
  var wrongHere: [UInt8] = []
  var wrongThere: [UInt8] = []
}

/// Compares a lane with a peer: heads first, then digests, then the records behind those that differ.
struct LaneComparison {
  let lane: Lane
  let peer: DeviceKey

  func run(on node: isolated Node) async -> LaneVerdict {
    do {
      var verdict = try await attempt(on: node)
      for _ in 1..<Self.comparisonsMax where verdict == nil {
        verdict = try await attempt(on: node)
      }
      return verdict ?? .notInSync(behind: 0, ahead: 0)
    } catch let failure as WaymarkError {
      return .unknown(failure)
    } catch {
      return .unknown(.failed(.store, "The store can't be read: \(error).", next: .waymark("verify --deep")))
    }
  }

  private static let comparisonsMax = 3
  static let differencesMax = 20

  /// Nil if something was folded on one side while it went on.
  private func attempt(on node: isolated Node) async throws -> LaneVerdict? {
    guard case .heads(let heads) = try await node.ask(peer, lane, .heads).content else { return nil }
    let (mine, theirs) = (node.replica[lane].heads, Heads(heads))
    guard mine.foldedHash == theirs.foldedHash else {
      return .notInSync(behind: mine.missing(theirs), ahead: theirs.missing(mine))
    }
    let answer = try await node.ask(peer, lane, .digests)
    let own = try node.store.answer(lane, .digests)
    guard answer.folded == own.folded, case .digests(let here) = own.content,
      case .digests(let there) = answer.content
    else { return nil }
    guard here != there else { return .equal }
    return try await difference(here: here, there: there, at: own.folded, on: node)
      .map { .differs($0) }
  }

  private func difference(
    here: [Bytes32], there: [Bytes32], at folded: Bytes32, on node: isolated Node
  ) async throws -> LaneDifference? {
    var found = LaneDifference()
    for bucket in UInt8.min...UInt8.max where here[Int(bucket)] != there[Int(bucket)] {
      guard found.records.count < Self.differencesMax else {
        found.isCut = true
        break
      }
      guard
        let mine = try await bucketHashes(
          at: folded, on: node, { try node.store.answer(lane, .bucket(bucket, after: $0)) }),
        let theirs = try await bucketHashes(
          at: folded, on: node, { try await node.ask(peer, lane, .bucket(bucket, after: $0)) })
      else { return nil }
      let keys = Set(mine.keys).union(theirs.keys).filter { mine[$0] != theirs[$0] }
      found.records += keys.sorted()
      if mine.sum != here[Int(bucket)] { found.wrongHere.append(bucket) }
      if theirs.sum != there[Int(bucket)] { found.wrongThere.append(bucket) }
    }
    return found
  }

  /// Nil if something was folded meanwhile.
  private func bucketHashes(
    at folded: Bytes32, on node: isolated Node, _ page: (RecordKey?) async throws -> Answer
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
  /// How many change sets the other has folded and these have not.
  fileprivate func missing(_ other: Heads) -> UInt64 {
    other.sorted.reduce(0) { sum, theirs in
      let mine = (tips(of: theirs.log).first { $0.id == theirs.id } ?? self[theirs.log])?.foldedSequence ?? 0
      return sum &+ (theirs.foldedSequence > mine ? theirs.foldedSequence - mine : 0)
    }
  }
}
