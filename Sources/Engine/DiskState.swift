// Protocol/store.md, "A full disk" and "A disk that fails"

package import Replication
import Storage
import Wire

/// The state of the disk under a store, and the reactions to a full or failed one.
///
///     works ──no room──▶ full ──room again──▶ works
///       └───────────failed──┴──▶ broken, until the next start
///
/// While the disk is full nothing is stored; reading and sending go on, and peers are asked again later. After a
/// failure nothing is retried: the same transaction might appear to succeed and be gone after a power loss.
package struct DiskState: Sendable {
  package private(set) var isFull = false
  package private(set) var isBroken = false

  package var canStore: Bool { !isFull && !isBroken }

  /// Records one event and appends what must be done about it, in order.
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
        // Peers are asked to send it again; the rest of the store is fine.
      } else {
        effects.append(.report(error))
      }
    case .looked(let hasRoom): looked(hasRoom, &effects)
    }
  }

  private mutating func becomeFull(_ effects: inout [DiskEffect]) {
    guard canStore else { return }
    isFull = true
    // If the write-ahead log filled the disk, shrinking it frees room at once.
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

/// Events that concern the disk.
package enum DiskInput {
  /// The node starts to serve; opening the store may have used up the ballast.
  case started(lacksBallast: Bool)
  /// The store rejected a transaction, or could not read.
  case failed(any Error)
  /// The shell has checked whether the disk has room.
  case looked(hasRoom: Bool)
}

/// Reactions to the state of the disk. The replicator performs `shrinkLog` and its part of `resume`, its shell the
/// rest.
package enum DiskEffect {
  /// Free the ballast except for the reserve of `ReplicatorShell.freeReserve`.
  case shrinkBallast
  /// Allocate the ballast again.
  case holdBallast
  /// Check for room after so many milliseconds and answer with `DiskInput.looked`; a newer request replaces an older
  /// one.
  case look(after: Moment)
  /// Checkpoint the write-ahead log into the database and free its space.
  case shrinkLog
  /// Store what had no room until now, and ask peers again.
  case resume
  /// End the process without another write: the store can't be trusted any more.
  case stop(any Error)
  /// Report a rejected transaction that the disk did not cause.
  case report(any Error)
}

extension Replicator {
  /// Records an event of the disk and performs the reactions.
  package func handle(_ input: DiskInput, now: Now) {
    for effect in effects(of: input) {
      perform(effect)
      if case .resume = effect { turn(now) { roomAgain(now) } }
    }
  }

  /// Records that the store rejected a transaction, of which nothing was written.
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
      // A full disk may have no room for the checkpoint either, and an open reader blocks it.
      shell?.note(.logNotShortened(why: "\(error)"))
    }
  }
}
