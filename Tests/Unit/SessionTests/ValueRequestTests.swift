import Families
import Replication
import Testing
import Wire

/// How many missing values one message requests, and how a full link delays the answer to such a message.
@Suite struct ValueRequestTests {
  /// Alice's replica, which is connected with Bob and has the one set that he wrote.
  private final class Alice {
    private var replica: Replica
    private let now: Now
    let bobsLog: LogKey

    init() throws {
      let world = try World(["alice", "bob"])
      world.connect("alice", "bob")
      try world.write("bob", insert(setting(1)))
      try #require(world.run { $0["alice"].count(.settings) == 1 && $0["alice"].isInSync(with: $0["bob"]) })
      replica = world["alice"].replica
      now = world.time(world["alice"])
      bobsLog = LogKey(device: world["bob"].key, incarnation: world["bob"].incarnation, lane: .settings)
    }

    func after(_ input: Input) -> [Effect] {
      var effects: [Effect] = []
      replica.handle(input, now: now, into: &effects)
      return effects
    }

    func slots(_ number: UInt64, _ count: Int = 1) -> SetSlots {
      let id = ChangeSetID(Bytes32(0, 0, 7, number))
      return SetSlots(log: bobsLog, sequence: 1, id: id, slots: Array(0..<count))
    }
  }

  private let link = LinkID(1)

  private func requested(_ effects: [Effect]) -> [SetSlots] {
    effects.flatMap { effect -> [SetSlots] in
      if case .send(_, .wantValues(_, let sets)) = effect { sets } else { [] }
    }
  }

  @Test(
    arguments: [
      (300, 1, 100, 256, 44), (10, 1_000, 100, 4, 4), (20, 512, 0, 8, 8), (10, 1, 200_000, 3, 3),
      (3, 1, 200_000, 3, 0),
    ] as [(UInt64, Int, Int, Int, Int)])
  func `a message requests values up to a number of sets, slots and bytes, and the next one the rest`(
    sets: UInt64, slots: Int, bytes: Int, first: Int, second: Int
  ) throws {
    let alice = try Alice()
    let missing = (1...sets).map { number in
      MissingSlots(number: Int64(number), set: alice.slots(number, slots), valuesBytes: bytes)
    }
    _ = alice.after(.valuesMissing(true))
    let asked = requested(alice.after(.missingRead(missing)))
    #expect(asked == missing.prefix(first).map(\.set))
    // Bob has none of them.
    let next = requested(alice.after(.received(link, .values(.settings, []))))
    #expect(next == missing.dropFirst(first).prefix(second).map(\.set))
  }

  @Test func `values that a full link can't take are read again once it has room, and sent once`() throws {
    let alice = try Alice()
    let set = alice.slots(1)
    let found = [SetValues(id: set.id, slots: [])]
    func after(_ input: Input) -> [String] {
      alice.after(input).compactMap { effect -> String? in
        switch effect {
        case .readValues(_, _, let sets): "read \(sets.count)"
        case .send(_, .values(_, let sets)): "send \(sets.count)"
        default: nil
        }
      }
    }
    #expect(after(.received(link, .wantValues(.settings, [set]))) == ["read 1"])
    #expect(after(.valuesRead(link, .settings, nil)) == [])
    #expect(after(.drained(link)) == ["read 1"])
    #expect(after(.valuesRead(link, .settings, found)) == ["send 1"])
    #expect(after(.drained(link)) == [])
    #expect(after(.valuesRead(link, .settings, found)) == [])
  }
}
