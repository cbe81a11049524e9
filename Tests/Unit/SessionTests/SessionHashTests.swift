import Membership
import RecordTables
import Replication
import Storage
import Testing
import Vectors
import Wire

/// Protocol/vectors/session.json: hashes, questions, and what ends a session.
@Suite struct SessionHashTests {
  private let document: SessionVectors

  init() throws { document = try SessionVectors() }

  @Test func `the hash of statements does not depend on their order`() throws {
    for row in document.certificates {
      #expect(try heldCircle(row.statements).setHash == bytes32(row.hash), "\(row.name)")
    }
  }

  @Test func `heads in any order have the hashes of the vectors`() throws {
    for row in document.heads {
      guard case .heads(_, let list, _) = try Message(decoding: expand(row.bytes)) else {
        throw BrokenVector(row.name)
      }
      #expect(try Heads(list).storedHash == bytes32(row.heads), "\(row.name)")
      #expect(try Heads(list).foldedHash == bytes32(row.folded), "\(row.name)")
    }
  }

  @Test func `the state hash covers the certificates and the open lanes`() throws {
    for row in document.states {
      let lanes = try row.lanes.map { lane in
        let state = Summary.LaneState(
          reason: .open, heads: try bytes32(lane.heads), folded: try bytes32(lane.folded),
          digest: try bytes32(lane.digest))
        return (try #require(Lane(rawValue: lane.lane)), state)
      }
      let hash = try Replica.stateHash(bytes32(row.certificates), lanes)
      #expect(try hash == bytes32(row.hash), "\(row.name)")
    }
  }

  @Test func `records with the same shown fields have the hash of the vectors`() throws {
    for row in document.contents {
      let contents = try row.fields.map { ($0.number, try expand($0.content)) }
      let hash = InventoryItem.hash(of: Dictionary(uniqueKeysWithValues: contents))
      #expect(try hash == bytes32(row.hash), "\(row.name)")
    }
  }

  @Test func `a small store answers each question as the vectors say`() throws {
    for row in document.stores {
      let store = try Store.inMemory()
      let report = try store.commit(row.sets.map { try $0.verified() }, horizon: Clock(raw: .max))
      #expect(report.placements.count == row.sets.count, "\(row.name)")
      for exchange in row.answers {
        guard case .query(let query) = try Message(decoding: expand(exchange.question)) else {
          throw BrokenVector(exchange.question)
        }
        let answer = try store.answer(query.lane, query.question)
        let message = Message.answer(token: query.token, answer)
        #expect(try message.encoded == expand(exchange.answer), "\(row.name): \(query.question)")
        #expect(answer.fits(query), "\(row.name): \(query.question)")
      }
    }
  }

  @Test func `an answer that does not fit its question is refused`() throws {
    for row in document.exchanges {
      guard case .query(let query) = try Message(decoding: expand(row.question)),
        case .answer(let token, let answer) = try Message(decoding: expand(row.answer))
      else { throw BrokenVector(row.name) }
      #expect(token == query.token)
      #expect(answer.fits(query) == (row.flag == "none"), "\(row.flag): \(row.name)")
    }
  }

  @Test func `a message ends an introduced session if the vectors say so`() throws {
    for row in document.endings {
      let world = try World(["alice", "bob"])
      world.connect("alice", "bob")
      world.run(1_000)
      world.inject(try expand(row.message), from: "alice", to: "bob")
      world.run(1_000)
      #expect(world.isConnected("alice", "bob") == (row.flag == "none"), "\(row.flag): \(row.name)")
    }
  }
}
