import Families
import FileFormat
import FileStore
import Membership
import RecordTables
import Replication
import Shells
import Storage
import VirtualDisk
import Wire

@testable import Engine

/// The node under test: a member that writes nothing and is never revoked, with its store on a simulated disk. One
/// peer, the courier, sends it everything over a session.
final class Node {
  static let reader = "reader"
  private static let courier = "courier"
  private static let link = LinkID(1)
  private static let path = "home/store.db"

  let disk: Disk
  let store: Store
  let replicator: Replicator
  private let volume: Volume
  private let shell = WorldShell()
  /// Whether the time has come at which sets dated ahead are due.
  private var isLate: Bool
  private var steady: Moment = 0

  /// Starts a node on the disk of a former one, or on an empty disk.
  init(_ disk: Disk, isLate: Bool = false) throws {
    (self.disk, self.isLate) = (disk, isLate)
    volume = try Volume(disk)
    store = try Store(on: volume, path: Self.path)
    if try store.statements().isEmpty { try Self.found(store) }
    replicator = try Replicator(
      store: store, circle: try Circle(store: store), signing: Family.key(Self.reader), preference: true,
      localPremium: .none, place: AnyIncarnation(), now: SignedWorld.now + (isLate ? Self.wait : 0), seed: 1,
      random16: { Bytes16(4, 4) })
    replicator.shell = shell
    try connect()
  }

  deinit { volume.cut() }

  private static func found(_ store: Store) throws {
    let family = SignedWorld.family
    let names = [reader, courier]
    let statements =
      try [family.genesis] + names.map { try family.certificate(for: $0) }
      + names.map { try family.entitlement(for: $0) }
    try store.saveStatements(statements.map { ($0.id, $0.bytes) })
    try store.setMeta(MetaKey.incarnation, Bytes16(1, 1).bytes)
  }

  private func connect() throws {
    let courier = DeviceKey(Family.key(Self.courier))
    replicator.handle(.started, now: now)
    let introduction = replicator.circle.introduction(of: courier, wallMilliseconds: now.wall)?.encoded
    replicator.handle(
      .opened(Self.link, remote: Family.transport(of: Self.courier), introduction: introduction), now: now)
    let lane = Summary.LaneState(reason: .open, heads: .zero, folded: .zero, digest: .zero)
    receive(.summary(Summary(certificates: .zero, wall: now.wall, settings: lane, records: lane)))
  }

  private static let wait: Moment = 1_800_000
  private var now: Now { Now(wall: SignedWorld.now + (isLate ? Self.wait : 0), steady: steady) }

  /// Whether the session has stayed open, so nothing that was sent counts as misbehaviour.
  var isConnected: Bool {
    replicator.replica.sessions[Self.link]?[.records].isOpen == true && shell.failures.isEmpty
  }

  /// A new process on a copy of this node's disk.
  func restarted() throws -> Node { try Node(disk.copy(), isLate: isLate) }

  // MARK: Deliveries

  private func receive(_ message: Message) {
    steady += 10_000
    replicator.handle(.received(Self.link, message), now: now)
    while shell.takeGoOn() { replicator.goOn(now: now) }
  }

  func receive(_ statement: Statement) { receive(.statements([statement.bytes], last: false)) }

  func receive(_ sets: [VerifiedChangeSet]) { receive(.sets(.records, sets)) }

  func letTimePass() {
    isLate = true
    steady += Self.wait
    replicator.handle(.timer(.unpark), now: now)
  }
}

/// A shell that asks to go on, and remembers what must not happen.
private final class WorldShell: QuietShell {
  private var isGoOnDue = false
  private(set) var failures: [String] = []

  func takeGoOn() -> Bool {
    defer { isGoOnDue = false }
    return isGoOnDue
  }

  func goOnSoon() { isGoOnDue = true }
  func close(_ link: LinkID, _ cause: CloseCause) { failures.append("closed: \(cause)") }
  func perform(_ effect: DiskEffect) { failures.append("\(effect)") }
}
