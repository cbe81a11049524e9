import FileFormat
import FileStore
import Membership
import Records
import Shells
import Sodium
import Storage
import Vectors
import Wire

@testable import Engine
@testable import Replication

/// A device of the transcript: a replicator with its store in memory, and timers that the test fires.
final class TranscriptDevice: QuietShell {
  struct Sent {
    let at: Moment
    let bytes: [UInt8]
  }

  static let link = LinkID(1)

  let name: String
  let store: Store
  let replicator: Replicator
  private let connection: Transcript.Connection
  private let steadyStart: Moment
  /// Milliseconds since the first step.
  private(set) var at: Moment = 0
  private(set) var sent: [Sent] = []
  private(set) var closes: [CloseCause] = []
  /// How many answers to its questions it has received.
  private(set) var answers = 0
  private var timers: [ReplicaTimer: (due: Moment, order: Int)] = [:]
  private var timerCount = 0
  private var isGoOnDue = false

  init(_ name: String, _ transcript: Transcript) throws {
    self.name = name
    connection = transcript.session
    guard let before = connection.before[name], let steady = connection.steadyClocks[name] else {
      throw BrokenVector(name)
    }
    steadyStart = steady
    let device = try transcript.device(name)
    store = try Store.inMemory()
    let statements = try before.statements.map { try Statement(try expand($0)) }
    try store.saveStatements(statements.map { ($0.id, $0.bytes) })
    try store.setMeta(MetaKey.incarnation, try expand(device.incarnation))
    let sets = try before.sets.map { try VerifiedChangeSet(verifying: try $0.raw) }
    _ = try store.commit(sets, horizon: Clock(raw: .max))
    for each in before.files { try Self.add(try transcript.file(each), to: store) }
    // Each set that the device writes in the session draws one seed.
    var seeds = try connection.steps.filter { $0.device == name }.compactMap { step in
      try step.write.map { try bytes16($0.seed) }
    }
    replicator = try Replicator(
      store: store, circle: try Circle(store: store), signing: try SigningKey(seed: try expand(device.seed)),
      preference: true, localPremium: .none, place: AnyIncarnation(), now: connection.wallClock, seed: 1,
      random16: { seeds.removeFirst() })
    replicator.shell = self
    replicator.handle(.started, now: now)
  }

  private static func add(_ file: Transcript.File, to store: Store) throws {
    var writing = try store.files.beginImport()
    try store.files.append(file.bytes[...], to: &writing)
    let reference = try store.files.finish(&writing)
    guard reference.id.bytes == (try expand(file.id)) else { throw BrokenVector(file.name) }
    try store.noteHere(reference, usedAt: 0)
  }

  var now: Now { Now(wall: connection.wallClock + at, steady: steadyStart + at) }

  // MARK: Inputs

  /// Fires the timers that are due until a moment, each at its time, and then handles an input at that moment.
  func handle(_ input: Input, at moment: Moment) {
    advance(to: moment)
    replicator.handle(input, now: now)
    goOn()
  }

  func advance(to moment: Moment) {
    while let (timer, next) = timers.min(by: {
      ($0.value.due, $0.value.order) < ($1.value.due, $1.value.order)
    }),
      next.due <= moment
    {
      timers[timer] = nil
      at = max(at, next.due)
      replicator.handle(.timer(timer), now: now)
      goOn()
    }
    at = max(at, moment)
  }

  func write(_ write: Transcript.Write, at moment: Moment) throws {
    advance(to: moment)
    let operation = OperationDraft(id: OperationID(try bytes16(write.operation)), verb: write.verb)
    try replicator.write(operation, try write.entries.map { try $0.draft }, now: now)
    goOn()
  }

  private func goOn() {
    while isGoOnDue {
      isGoOnDue = false
      replicator.goOn(now: now)
    }
  }

  // MARK: Shell

  func send(_ message: [UInt8], to link: LinkID, as sendClass: SendClass) {
    sent.append(Sent(at: at, bytes: message))
  }

  func close(_ link: LinkID, _ cause: CloseCause) { closes.append(cause) }

  func schedule(_ timer: ReplicaTimer, after milliseconds: Moment) {
    timerCount += 1
    timers[timer] = (at + milliseconds, timerCount)
  }

  func goOnSoon() { isGoOnDue = true }

  func finish(_ files: [FileReference], in store: FileStore) {
    let hasFailed = (try? store.finish(files)) == nil
    replicator.finished(files, hasFailed: hasFailed, now: now)
  }

  func replied(_ link: LinkID, _ reply: Reply) -> Input? {
    if case .answer = reply { answers += 1 }
    return nil
  }

  // MARK: State

  /// What the device holds, in the form of the transcript.
  func holding(_ transcript: Transcript) throws -> Transcript.Holding {
    let circle = replicator.circle
    let files = try transcript.files.filter { file in
      let reference = FileReference(
        size: file.size, id: FileID(bytes: try expand(file.id)[...]) ?? FileID(.zero))
      return try reference.map { try store.files.has($0) } ?? false
    }
    let session = replicator.replica.sessions[Self.link]
    let missing = try store.missingValues(after: 0, max: 100)
    return Transcript.Holding(
      members: circle.evaluation.members.values.map(\.name).sorted(),
      certificates: hexadecimal(circle.setHash.bytes),
      settings: lane(.settings), records: lane(.records),
      state: session.map { hexadecimal(replicator.replica.stateHash($0).bytes) },
      files: files.map(\.name).sorted(),
      missingValues: missing.reduce(0) { $0 + $1.set.slots.count })
  }

  private func lane(_ lane: Lane) -> Transcript.Lane {
    let heads = Heads(store.heads(lane))
    return Transcript.Lane(
      heads: hexadecimal(heads.storedHash.bytes), foldedHeads: hexadecimal(heads.foldedHash.bytes),
      digest: hexadecimal(store.digest(lane).sum.bytes))
  }
}

extension Transcript.ChangeSet {
  var raw: RawChangeSet {
    get throws {
      RawChangeSet(
        header: try expand(header), signature: try expand(signature), plan: try expand(plan),
        values: try expand(values))
    }
  }
}

extension Transcript.Entry {
  fileprivate var draft: EntryDraft {
    get throws {
      guard let type = EntryType(rawValue: type) else { throw BrokenVector("entry type \(type)") }
      guard let kind = KindNumber(kind) else { throw BrokenVector("kind \(kind)") }
      let key = RecordKey(kind: kind, id: RecordID(try bytes16(record)))
      return EntryDraft(type, key, try fields.map { (FieldNumber($0.number), try $0.value.value()) })
    }
  }
}

func bytes16(_ hexadecimal: String) throws -> Bytes16 {
  guard let bytes = Bytes16(try expand(hexadecimal)) else { throw BrokenVector(hexadecimal) }
  return bytes
}
