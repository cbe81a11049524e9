import Families
import Membership
import Records
import Replication
import Storage
import Testing
import Wire

@testable import Engine

/// Which own sets count as unsent after a restart, on another device, and in a new incarnation.
@Suite struct UnsentLogRestartTests {
  private let store: Store
  private let key = Family.key("alice")
  private let incarnation = Incarnation(Bytes16(1, 1))

  init() throws { store = try Store.inMemory() }

  private var device: DeviceKey { DeviceKey(key) }

  private func log(_ lane: Lane, _ incarnation: Incarnation? = nil) -> LogKey {
    LogKey(device: device, incarnation: incarnation ?? self.incarnation, lane: lane)
  }

  private func write(_ number: UInt64, _ lane: Lane) throws {
    var author = Author(
      position: try store.authorPosition(circle: CircleID(.zero), log: log(lane)), key: key,
      seed: Family.seed)
    let draft = lane == .records ? insert(record(number)) : insert(setting(number))
    let operation = OperationDraft(id: OperationID(Bytes16(9, number)), verb: "test")
    _ = try store.commit(
      try author.write([draft], operation: operation, wall: Family.start), horizon: Clock(raw: .max))
  }

  private func opened() throws -> UnsentLogs {
    try UnsentLogs(store, device: device, incarnation: incarnation)
  }

  @Test func `sets that were not sent before a restart are still unsent after it`() throws {
    try write(1, .settings)
    _ = try opened()
    try write(2, .settings)
    try write(3, .records)
    for _ in 1...2 {
      let unsent = try opened()
      #expect(unsent.unsent(.settings, in: store).map(\.sequence) == [1])
      #expect(unsent.unsent(.records, in: store).map(\.sequence) == [0])
      #expect(unsent.hasUnsent(log(.settings), in: store) && unsent.hasUnsent(log(.records), in: store))
    }
  }

  @Test func `an entry of another device counts for nothing`() throws {
    _ = try opened()
    try write(1, .records)
    let other = try UnsentLogs(store, device: DeviceKey(Family.key("bob")), incarnation: incarnation)
    #expect(other.sent.keys.allSatisfy { $0.device == DeviceKey(Family.key("bob")) })
    #expect(other.unsent(.records, in: store).isEmpty)
  }

  @Test func `a new incarnation begins unsent in the lanes that are withheld, and only there`() throws {
    let next = Incarnation(Bytes16(2, 2))
    var unsent = try opened()
    unsent.forget(Lane.settings)
    unsent.begin(next)
    #expect(Set(unsent.sent.keys) == [log(.records), log(.records, next)])
    #expect(unsent.sent[log(.records, next)]?.sequence == 0)
    unsent.forget(log(.records))
    #expect(Set(unsent.sent.keys) == [log(.records, next)])
    try unsent.save(store)
    let lines = try store.metaLines(MetaKey.unsent)
    #expect(lines.count == 1 && lines[0].hasPrefix("\(device) \(next) 1 0 "))
    unsent.forget(Lane.records)
    unsent.begin(Incarnation(Bytes16(3, 3)))
    #expect(unsent.sent.isEmpty, "nothing is withheld any more")
  }
}
