import Records
import Replication
import Storage
import Testing
import Vectors
import Wire

/// The causal past of each write of a cell, checked against a literal implementation of the definitions.
struct CellWritesTests {
  private let alice: Device
  private let bob: Device
  private let devices: [Device]
  private let rome = trip(1)

  init() throws {
    (alice, bob) = (try Device("alice"), try Device("bob"))
    devices = [alice, bob, try Device("carol")]
    try alice.write(at: 1, insert(rome, [1: .text("Rome")]))
    for device in devices { try device.sync(from: alice) }
  }

  /// The writes of the name, lowest rank first.
  private func writes(in store: Store) throws -> [RecordWrite] {
    try store.writes(of: rome).filter { $0.content(1) != nil }
  }

  private func cells(_ writes: [RecordWrite], _ store: Store) -> CellWrites {
    var contents: [[UInt8]] = []
    return CellWrites(
      writes.enumerated().map { index, write in
        let content = write.content(1) ?? []
        if !contents.contains(content) { contents.append(content) }
        return CellWrites.Write(index, write.place, contents.firstIndex(of: content) ?? 0)
      }, in: store)
  }

  @Test(arguments: 1...40)
  func `what a write replaced and lost to matches the definition`(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    for step in 1...40 {
      let device = devices[random.below(3)]
      if random.below(3) == 0 { try device.sync(from: devices[random.below(3)]) }
      try device.write(
        at: Int64(step * 10) - Int64(random.below(60)), edit(rome, [1: .text("name \(random.below(4))")]))
    }
    for device in devices { try alice.sync(from: device) }
    let store = alice.store
    let all = try writes(in: store)
    let found = cells(all, store)
    func sees(_ later: Int, _ earlier: Int) throws -> Bool {
      try store.covers(all[later].place, all[earlier].place)
    }
    for index in all.indices {
      let before = try all.indices.last { try $0 != index && sees(index, $0) }
      let followers = try all.indices.filter { try $0 != index && sees($0, index) }
      let winner = try all.indices.last { other in
        try other > index && all[other].content(1) != all[index].content(1) && !followers.contains(other)
          && followers.allSatisfy { try sees($0, other) }
      }
      #expect(try found.before(index) == before)
      #expect(try found.winner(over: index) == winner)
    }
  }
}
