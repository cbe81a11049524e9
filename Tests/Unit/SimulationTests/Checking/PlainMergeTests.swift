import Testing
import Vectors

@testable import Simulation

/// The checkers' own fold agrees with the published histories.
@Suite struct PlainMergeTests {
  struct File: Decodable {
    struct History: Decodable {
      struct Cell: Decodable {
        let kind: Int
        let record: String
        let field: Int
        let winner: Int
        let siblings: [Int]
      }

      /// A cell whose shown value is absent.
      struct Absent: Decodable {
        let kind: Int
        let record: String
        let field: Int
      }

      /// The slots of a set that are missing in the stored values.
      struct Gap: Decodable {
        let set: Int
        let slots: [Int]
      }

      struct Conflict: Decodable {
        let kind: Int
        let record, reason: String
        let field: Int?
        let winner: Int
        let losers: [Int]
      }

      struct Hash: Decodable {
        let kind: Int
        let record, hash: String
      }

      let name: String
      let sets: [PlainVectorTests.ChangeSets.Sealed]
      let cells: [Cell]
      let erased: [Absent]
      let gaps: [Gap]
      let conflicts: [Conflict]
      let digests: [Hash]
      let digest: String
    }

    let histories: [History]
    let ranks: [Rank]
  }

  struct Rank: Decodable {
    let name: String
    let updatedAt: Int64
    let nonEmptyFields: Int
    let header, signature, plan, values: String
  }

  private func key(_ kind: Int, _ record: String) throws -> PlainKey {
    PlainKey(kind: kind, id: try #require(Name16(try expand(record))))
  }

  private func library(_ history: File.History) throws -> SetLibrary {
    let library = SetLibrary()
    for sealed in history.sets { _ = try library.add(try sealed.raw()) }
    return library
  }

  private func record(_ key: PlainKey, _ library: SetLibrary) -> PlainRecord {
    PlainRecord(
      key, library,
      PlainRecord.Scope(
        counts: { _ in true }, covers: { library.covers($0, $1, by: library.sights[$0]) },
        holds: { library.values(of: $0, slot: $1) != nil }))
  }

  @Test func `histories fold to the published cells, conflicts and digests`() throws {
    for history in try vectors("merge.json", as: File.self).histories {
      let library = try library(history)
      var cells = 0
      for row in history.cells {
        let cell = try #require(record(try key(row.kind, row.record), library).cells[row.field])
        #expect(cell.winner.set == row.winner, "\(history.name)")
        #expect(cell.siblings.map(\.set).sorted() == row.siblings.sorted(), "\(history.name)")
        cells += 1
      }
      var sum = Name32.zero
      var digests = ViewDigests()
      for key in library.writes.keys {
        let record = record(key, library)
        cells -= record.cells.count
        let hash = ViewDigests.hash(record, library)
        digests.set(key, .zero)
        digests.set(key, hash)
        if let hash { sum = sum &+ hash }
      }
      #expect(cells == 0, "\(history.name)")
      #expect("\(sum)" == history.digest, "\(history.name)")
      #expect("\(digests.totals[0] &+ digests.totals[1])" == history.digest, "\(history.name)")
      for row in history.digests {
        let record = record(try key(row.kind, row.record), library)
        #expect(ViewDigests.hash(record, library).map { "\($0)" } == row.hash, "\(history.name)")
      }
      try checkConflicts(history, library)
      try checkErased(history, library)
    }
  }

  /// Compares the cells that show nothing and the slots that are missing with those of a history.
  private func checkErased(_ history: File.History, _ library: SetLibrary) throws {
    var absent: Set<String> = []
    var gaps: [Int: Set<Int>] = [:]
    for (number, sealed) in history.sets.enumerated() {
      let missing = try library.add(try sealed.raw()).missing
      if !missing.isEmpty { gaps[number] = missing }
    }
    for key in library.writes.keys {
      let record = record(key, library)
      for (field, cell) in record.cells where cell.winner.content.isAbsent {
        absent.insert("\(key) \(field)")
      }
      for write in library.writes[key] ?? [] {
        let isErased = record.erasers.contains {
          $0 != write.set && library.covers($0, write.set, by: library.sights[$0])
        }
        guard isErased, let slot = library.sets[write.set].entries[write.entry].slot else { continue }
        gaps[write.set, default: []].insert(slot)
      }
    }
    let wanted = try history.erased.map { "\(try key($0.kind, $0.record)) \($0.field)" }
    #expect(absent == Set(wanted), "\(history.name)")
    let wantedGaps = Dictionary(uniqueKeysWithValues: history.gaps.map { ($0.set, Set($0.slots)) })
    #expect(gaps == wantedGaps, "\(history.name)")
  }

  private func checkConflicts(_ history: File.History, _ library: SetLibrary) throws {
    var found: Set<String> = []
    for key in library.writes.keys {
      let record = record(key, library)
      for (field, cell) in record.cells {
        let losers = cell.siblings.filter { record.differs($0, in: field) }.map(\.set).sorted()
        if !losers.isEmpty { found.insert("\(key) \(field) \(cell.winner.set) \(losers)") }
      }
    }
    let wanted = try history.conflicts.filter { $0.reason == "field" || $0.reason == "profile" }.map {
      "\(try key($0.kind, $0.record)) \($0.field ?? 0) \($0.winner) \($0.losers.sorted())"
    }
    #expect(found == Set(wanted), "\(history.name)")
  }

  @Test func `profiles are ranked as in the table`() throws {
    var below: PlainRecord.Rank?
    for row in try vectors("merge.json", as: File.self).ranks {
      let set = try PlainSet(
        PlainRawSet(
          header: try expand(row.header), signature: try expand(row.signature), plan: try expand(row.plan),
          values: try expand(row.values)))
      let entry = try #require(set.entries.first)
      let rank = PlainRecord.rank(of: entry, in: set)
      #expect(rank.time == row.updatedAt && rank.filled == row.nonEmptyFields, "\(row.name)")
      if let below { #expect(below < rank, "\(row.name)") }
      below = rank
    }
  }
}
