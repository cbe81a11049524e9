// Protocol/store.md, "A full disk" and "A disk that fails"

package import Replication
import Storage
import Wire

/// Whether the disk under a store takes what is written to it, and what follows when it does not.
///
///     works ──no room──▶ full ──room again──▶ works
///       └───────────failed──┴──▶ broken, until the next start
///
/// On a full disk nothing is stored: reading and sending go on, and peers are asked again later. Nothing is tried
/// again on a disk that has failed: the same transaction may appear to work, and be gone after a power loss.
package struct DiskState: Sendable {
  package private(set) var isFull = false
  package private(set) var isBroken = false

  /// False while nothing can be stored.
  package var canStore: Bool { !isFull && !isBroken }

  /// Records one event and says what must be done about it, in order.
  mutating func handle(_ input: DiskInput, into effects: inout [DiskEffect]) {
    switch input {
    case .started(let lacksBallast):
      if canStore, lacksBallast { effects.append(.look(after: Self.lookMilliseconds)) }
    case .failed(let error):
      if isNoRoom(error) {
        becomeFull(&effects)
      } else if isBrokenStore(error) {
        if !isBroken { effects.append(.stop(error)) }
        isBroken = true
      } else if case StoreError.damagedSet = error {
        // Peers are asked for it; nothing else is wrong.
      } else {
        effects.append(.report(error))
      }
    case .looked(let hasRoom): looked(hasRoom, &effects)
    }
  }

  private mutating func becomeFull(_ effects: inout [DiskEffect]) {
    guard canStore else { return }
    isFull = true
    // The write-ahead log may be what has filled the disk: then there is room at once.
    effects += [.shrinkBallast, .shrinkLog, .look(after: Self.firstLookMilliseconds)]
  }

  private mutating func looked(_ hasRoom: Bool, _ effects: inout [DiskEffect]) {
    guard !isBroken else { return }
    guard hasRoom else { return effects.append(.look(after: Self.lookMilliseconds)) }
    effects.append(.holdBallast)
    guard isFull else { return }
    isFull = false
    effects.append(.resume)
  }

  private static let firstLookMilliseconds: Moment = 20
  private static let lookMilliseconds: Moment = 5_000
}

/// What happened to the disk.
package enum DiskInput {
  /// The node begins to serve; opening the store may have used up the ballast.
  case started(lacksBallast: Bool)
  /// The store refused a transaction, or could not read.
  case failed(any Error)
  /// The shell has looked whether the disk has room.
  case looked(hasRoom: Bool)
}

/// What must be done about the disk. The replicator does what concerns its store, and its shell the rest.
package enum DiskEffect {
  /// Give up the ballast, all but the reserve for `ReplicatorShell.freeReserve`.
  case shrinkBallast
  /// Take the room for the ballast again.
  case holdBallast
  /// Look whether there is room after so many milliseconds, and answer with `DiskInput.looked`; a newer one replaces
  /// an older one.
  case look(after: Moment)
  /// Move the write-ahead log into the database and give its room back to the disk.
  case shrinkLog
  /// Store what found no room meanwhile, and ask peers again.
  case resume
  /// The store can't be trusted any more: end the process without another write.
  case stop(any Error)
  /// The store refused for a reason that is not the disk's.
  case report(any Error)
}

extension Replicator {
  /// Records what happened to the disk, and does what follows.
  package func handle(_ input: DiskInput, now: Now) {
    for effect in effects(of: input) {
      perform(effect)
      if case .resume = effect { turn(now) { roomAgain(now) } }
    }
  }

  /// The store refused: nothing of the transaction is there.
  package func storeFailed(_ error: any Error) {
    // The disk has no more room than before, so nothing resumes and the time does not matter.
    for effect in effects(of: .failed(error)) { perform(effect) }
  }

  private func effects(of input: DiskInput) -> [DiskEffect] {
    var effects: [DiskEffect] = []
    disk.handle(input, into: &effects)
    return effects
  }

  private func perform(_ effect: DiskEffect) {
    if case .shrinkLog = effect { shrinkLog() } else { shell?.perform(effect) }
  }

  private func shrinkLog() {
    guard isOpen else { return }
    do { try store.checkpoint(isShrinking: true) } catch  where isBrokenStore(error) {
      storeFailed(error)
    } catch {
      // A full disk may have no room for this either, and somebody may be reading.
      shell?.note(.logNotShortened(why: "\(error)"))
    }
  }
}
