import Membership
import RecordTables
import Records
import Replication
import SQLite
package import Storage
package import VirtualDisk
import Wire

/// Alice's device, whose store is on a simulated disk, and other devices whose sets it receives.
package final class Stage {
  package let disk: Disk
  let props: Props
  private(set) var volume: Volume
  private var opened: Store?
  var alice: Writer
  /// What others have written, by the name that the scenario gives it.
  var heard: [String: [VerifiedChangeSet]] = [:]
  var reader: Connection?
  private let bobs: Store
  let bob: Writer

  static let path = "home/store.db"

  /// - Parameter disk: Alice's initial disk; empty, or the result of `founded()`.
  init(_ disk: Disk, _ props: Props) throws {
    self.disk = disk
    self.props = props
    volume = try Volume(disk)
    alice = Writer("alice", props.cast)
    bob = Writer("bob", props.cast)
    bobs = try Store.inMemory()
  }

  deinit { volume.cut() }

  var cast: Cast { props.cast }

  // MARK: Processes

  package var store: Store {
    get throws {
      guard let opened else { throw StageError.closed }
      return opened
    }
  }

  var isOpen: Bool { opened != nil }

  func open(refolds: Bool = false) throws {
    opened = nil
    opened = try Store(on: volume, path: Self.path, refolds: refolds)
  }

  func close() { opened = nil }

  /// Ends the process; its writes remain, synced or not.
  func kill() throws {
    volume.cut()
    opened = nil
    disk.restart()
    volume = try Volume(disk)
  }

  /// Performs the steps of a node's start.
  func start() throws {
    try open()
    try admit()
  }

  /// Whether the store knows a circle that its device belongs to.
  var isMember: Bool { get throws { try store.statements().count > 1 } }

  func admit() throws {
    let statements = try store.statements().map { try Membership.Statement($0) }
    guard !statements.isEmpty else { return }
    let circle = try Circle(statements: statements)
    _ = try store.admit(by: circle.evaluation.admission, horizon: Cast.horizon)
  }

  // MARK: Work

  func write(at wall: Moment, _ drafts: EntryDraft...) throws { try write(at: wall, drafts) }

  func write(at wall: Moment, _ drafts: [EntryDraft]) throws {
    try commit(try alice.draft(on: store, at: wall, drafts))
  }

  func commit(_ sets: [VerifiedChangeSet], horizon: Clock = Cast.horizon) throws {
    for placement in try store.commit(sets, horizon: horizon).placements {
      if case .place = placement { continue }
      if placement == .excluded || placement == .duplicate { continue }
      throw StageError.noPlace("\(placement)")
    }
  }

  /// Bob writes something, which Alice may receive later; he has seen the sets of `knowing`.
  func bobWrites(_ name: String, at wall: Moment, knowing: [VerifiedChangeSet] = [], _ drafts: EntryDraft...)
    throws
  {
    let all = Clock(raw: .max)
    if !knowing.isEmpty { _ = try bobs.commit(knowing, horizon: all) }
    let sets = try bob.draft(on: bobs, at: wall, drafts)
    _ = try bobs.commit(sets, horizon: all)
    heard[name, default: []] += sets
  }

  func hear(_ name: String, horizon: Clock = Cast.horizon) throws {
    try commit(heard[name] ?? [], horizon: horizon)
  }

  func save(_ statements: Membership.Statement...) throws {
    try store.saveStatements(statements.map { ($0.id, $0.bytes) })
  }
}

package enum StageError: Error {
  case closed
  case noPlace(String)
}
