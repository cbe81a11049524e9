import Membership
import RecordTables
import Replication
import Storage
import Testing
import Vectors
import Wire

/// Protocol/vectors/session.json: what a device requests of a peer, and what it serves.
@Suite struct WantVectorTests {
  @Test func `a device requests what its peer has and it lacks`() throws {
    for row in try SessionVectors().wants {
      let receiver = try Receiver(row)
      for (number, step) in row.steps.enumerated() {
        for message in step.messages { receiver.receive(try Message(decoding: expand(message))) }
        let sent = receiver.takeWants().map { Message.want(.settings, $0).encoded }
        #expect(try sent == step.want.map { [try expand($0)] } ?? [], "\(row.name), step \(number)")
      }
      #expect(receiver.closes.isEmpty, "\(row.name)")
    }
  }

  @Test func `sets are served once and after those that they depend on`() throws {
    let serving = try SessionVectors().serving
    let sets = try serving.sets.map { try $0.verified() }
    let store = try Store.inMemory()
    _ = try store.commit(sets, horizon: Clock(raw: .max))
    for row in serving.answers {
      guard case .want(let lane, let wants) = try Message(decoding: expand(row.want)) else {
        throw BrokenVector(row.name)
      }
      for setsMax in [1, 2, .max] {
        let served = try read(store, lane, wants, setsMax: setsMax)
        #expect(Set(served.map(\.id)) == Set(row.sets.map { sets[$0].id }), "\(row.name)")
        #expect(served.count == row.sets.count && isCausal(served), "\(row.name)")
      }
    }
  }

  /// Reads in several parts, as a connection that fills up has it.
  private func read(
    _ store: Store, _ lane: Lane, _ wants: [Want], setsMax: Int
  ) throws -> [VerifiedChangeSet] {
    var (served, rest): ([VerifiedChangeSet], [Want]) = ([], wants)
    repeat {
      let part = try store.read(lane, rest, bytesMax: .max, setsMax: setsMax)
      served += try part.sets.map { try VerifiedChangeSet(stored: $0.raw, id: $0.id) }
      rest = part.rest
    } while !rest.isEmpty
    return served
  }

  private func isCausal(_ sets: [VerifiedChangeSet]) -> Bool {
    var later = Set(sets.map(\.id))
    for set in sets {
      let before = [set.header.previous].compactMap { $0 } + set.header.dependencies.map(\.id)
      if before.contains(where: later.contains) { return false }
      later.remove(set.id)
    }
    return true
  }
}

/// A device with a store and one peer, Bob, who has dialled it.
private final class Receiver {
  private let store: Store
  private var replica: Replica
  private var wants: [[Want]] = []
  private(set) var closes: [CloseCause] = []
  private var steady: Moment = 0
  private let link = LinkID(1)

  init(_ row: SessionVectors.Needs) throws {
    let circle = try heldCircle(row.held)
    let device = circle.genesis.device
    let bob = try #require(circle.evaluation.members.values.first { $0.name == "bob" })
    store = try Store.inMemory()
    let evaluation = circle.evaluation
    _ = try store.admit(
      by: { evaluation.admission(of: $0, at: device) }, quota: { evaluation.quota(of: $0, $1, at: device) },
      horizon: Clock(raw: .max))
    let sets = try row.sets.map { try $0.verified() }
    _ = try store.commit(row.stored.map { sets[$0] }, horizon: Clock(raw: .max))
    replica = Replica(
      device: device, circle: circle, preference: true, localPremium: .none,
      settings: Replica.LaneState(heads: store.heads(.settings), digest: store.digest(.settings)),
      records: Replica.LaneState(heads: [], digest: store.digest(.records)), newestForeignClock: .zero,
      seed: 1)
    #expect(store.changeSetCount(.settings) == UInt64(row.stored.count))
    let introduction = circle.introduction(of: bob.device, wallMilliseconds: 1_000_000)
    handle(.opened(link, remote: bob.transport, introduction: try #require(introduction).encoded))
  }

  func receive(_ message: Message) {
    steady += 1_000
    handle(.received(link, message))
  }

  func takeWants() -> [[Want]] {
    defer { wants = [] }
    return wants
  }

  private func handle(_ input: Input) {
    var effects: [Effect] = []
    replica.handle(input, now: Now(wall: 1_000_000 + steady, steady: steady), into: &effects)
    for effect in effects { carryOut(effect) }
  }

  private func carryOut(_ effect: Effect) {
    switch effect {
    case .send(_, .want(.settings, let list)): wants.append(list)
    case .close(_, let cause): closes.append(cause)
    case .lookUp(let link, let lane, let tips):
      handle(.lookedUp(link, lane, lacking: obeyed { try store.lacking(tips) }))
    case .commit(let sets, let link): handle(.committed(commit(sets, link)))
    default: break
    }
  }

  private func commit(_ sets: [VerifiedChangeSet], _ link: LinkID) -> Committed {
    let report = obeyed { try store.commit(sets, horizon: Clock(raw: .max)) }
    let items = zip(sets, report.placements).map { Committed.Item(set: $0, link: link, placement: $1) }
    return Committed(
      items: items, heads: report.heads, goneHeads: report.goneHeads, settingsDigest: report.settingsDigest,
      recordsDigest: report.recordsDigest, newestForeignClock: .zero, nextParkedClock: report.nextParkedClock)
  }

  private func obeyed<Result>(_ body: () throws -> Result) -> Result {
    do { return try body() } catch { fatalError("the store refused: \(error)") }
  }
}
