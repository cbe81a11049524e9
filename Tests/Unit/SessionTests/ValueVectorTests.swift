import FileFormat
import Replication
import Storage
import Testing
import Vectors
import Wire

/// Protocol/vectors/session.json: missing and erased values, and files that records name.
@Suite struct ValueVectorTests {
  private let document: SessionVectors

  init() throws { document = try SessionVectors() }

  private func store(_ sets: [VerifiedChangeSet], now: Moment) throws -> Store {
    let store = try Store.inMemory()
    _ = try store.commit(sets, horizon: Clock(milliseconds: now + Limits.clockDriftMilliseconds))
    #expect(store.changeSetCount(.records) == UInt64(sets.count))
    return store
  }

  @Test func `missing slots are requested, erased ones are not`() throws {
    for row in document.values {
      let sets = try row.sets.map { try $0.verified() }
      let missing = try store(sets, now: row.now).missingValues(after: 0, max: .max)
      let found = Dictionary(uniqueKeysWithValues: missing.map { ($0.set.id, $0.set.slots) })
      let told = Dictionary(uniqueKeysWithValues: row.missing.map { (sets[$0.set].id, $0.slots) })
      #expect(found == told, "\(row.name)")
    }
  }

  @Test func `values of folded sets are served if they are here`() throws {
    for row in document.values {
      let store = try store(row.sets.map { try $0.verified() }, now: row.now)
      for exchange in row.answers {
        guard case .wantValues(let lane, let wants) = try Message(decoding: expand(exchange.request)) else {
          throw BrokenVector(exchange.name)
        }
        let found = try store.values(lane, wants, bytesMax: .max, readMax: .max)
        let answer = Message.values(lane, found).encoded
        #expect(try answer == expand(exchange.answer), "\(row.name): \(exchange.name)")
      }
    }
  }

  @Test func `values that match their commitments are stored, others are not`() throws {
    for row in document.fills {
      let store = try store(row.sets.map { try $0.verified() }, now: 1_000_000)
      let missing = try #require(try store.missingValues(after: 0, max: 1).first).set
      guard case .values(_, let values) = try Message(decoding: expand(row.values)), values.count == 1,
        values[0].id == missing.id
      else { throw BrokenVector(row.name) }
      let report = try store.fill([ArrivedValues(set: missing, values: values[0].slots)])
      #expect(report.hasWrong == (row.flag != "none"), "\(row.name)")
      let left = try store.missingValues(after: 0, max: 1).first?.set.slots ?? []
      #expect(left == row.missing, "\(row.name)")
    }
  }

  @Test func `only files that folded records and siblings name are answered about`() throws {
    for row in document.files {
      let store = try store(row.sets.map { try $0.verified() }, now: row.now)
      for file in row.files {
        let value = try Value(encoded: expand(file.reference)[...])
        let reference = try #require(FileReference(value))
        #expect(try store.isNamed(reference) == file.named, "\(row.name): \(file.name)")
      }
    }
  }
}
