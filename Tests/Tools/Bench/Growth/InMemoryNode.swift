import Engine
import FileFormat
import FileStore
import JSONDocument
import Membership
import RecordTables
import Records
import Replication
import Sodium
import Storage
import Wire

/// One node without sockets or disk: the core of the real node, with a store in memory.
final class InMemoryNode {
  /// Its index in the network.
  let number: Int
  private let device: Int
  let transport: TransportKey
  let replicator: Replicator
  private unowned let network: Network
  private var timers: [ReplicaTimer: Int] = [:]
  private var timerCount = 0
  private var changes: UInt64 = 0
  private(set) var trouble: (any Error)?

  /// - Parameters:
  ///   - device: its index in the family.
  ///   - store: an empty one if nil.
  init(_ device: Int, _ network: Network, store: Store? = nil) throws {
    number = network.nodes.count
    self.device = device
    self.network = network
    let key = network.family.keys[device]
    transport = Family.transport(key)
    let store = try store ?? Store.inMemory()
    try store.setMeta(MetaKey.incarnation, Self.incarnation(device).bytes)
    replicator = try Replicator(
      store: store, circle: network.family.circle, signing: key, preference: true, localPremium: .none,
      place: AnyIncarnation(), now: network.time.wall, seed: UInt64(device),
      random16: { Bytes16(0, UInt64(device)) })
    replicator.shell = self
  }

  static func incarnation(_ device: Int) -> Incarnation { Incarnation(Bytes16(UInt64(device) + 1, 1)) }

  func handle(_ inputs: [Input]) { replicator.handle(inputs, now: network.time) }

  /// Logs a day of a habit, as a user does.
  func write() throws -> [ChangeSetID] {
    changes += 1
    let operation = OperationDraft(
      id: OperationID(Bytes16(UInt64(device) + 1, changes)), verb: "entry.add")
    let record = HabitEntries.draft(author: device, changes + (1 << 32))
    return try replicator.write(operation, [record], now: network.time)
  }

  /// Whether a timer that fires is the newest of its name.
  func takes(_ timer: ReplicaTimer, _ order: Int) -> Bool {
    guard timers[timer] == order else { return false }
    timers[timer] = nil
    return true
  }
}

extension InMemoryNode: ReplicatorShell {
  func send(_ message: [UInt8], to link: LinkID, as sendClass: SendClass) {
    do { try network.send(message, on: link, from: number) } catch { trouble = error }
  }

  func close(_ link: LinkID, _ cause: CloseCause) { network.disconnect(link) }

  func isCongested(_ link: LinkID, for sendClass: SendClass) -> Bool {
    network.isCongested(link, from: number)
  }

  func schedule(_ timer: ReplicaTimer, after milliseconds: Moment) {
    // The comparison every few seconds repairs what got lost: here it would only hide losses.
    if case .beat = timer { return }
    timerCount += 1
    timers[timer] = timerCount
    network.schedule(timer, after: milliseconds, for: number, order: timerCount)
  }

  func beginPiece() -> () -> Bool { { false } }
  func beginMeasuring() -> () -> Moment { { 0 } }
  func goOnSoon() {}
  func finish(_ files: [FileReference], in store: FileStore) {}
  func note(_ event: ReplicaEvent) {}
  func note(_ event: ReplicatorEvent) {}
  func replied(_ link: LinkID, _ reply: Reply) -> Input? { nil }
  func noting(_ report: CommitReport) throws {}
  func didCommit(_ report: CommitReport) { network.stored(report.heads) }
  func perform(_ effect: DiskEffect) {
    switch effect {
    case .stop(let error), .report(let error): trouble = error
    case .shrinkBallast: trouble = WriteRefusal.cannotStore
    case .holdBallast, .look, .shrinkLog, .resume: break
    }
  }
  func freeReserve() -> Bool { false }
}

private struct AnyIncarnation: IncarnationStorage {
  func names(_ incarnation: Incarnation) -> Bool { true }
  func write(_ incarnation: Incarnation) throws {}
}

/// Records like those of the other measures.
enum HabitEntries {
  /// The log with this number, in the order of ids.
  static func draft(author: Int, _ number: UInt64) -> EntryDraft {
    var random = SplitMix(seed: number &* 1_000 &+ UInt64(author))
    let id = RecordID(Bytes16(number << 24 | random.below(1 << 24), random.next()))
    let habit = Bytes16(random.below(24), 7)
    let minute = Network.start + Moment(random.below(1_000_000)) * 60_000
    return EntryDraft(
      .insert, RecordKey(kind: KindNumbers.habitEntry, id: id),
      [
        (1, .bytes(habit.bytes)),
        (2, .array([.integer(minute), .text("Europe/Rome"), .text("2026-03-04")])),
        (3, .float(Double(random.below(100_000)) / 1_000)),
      ])
  }
}
