// Sources/store.md, "A full disk" and "A disk that fails"

import LogStorage
package import Replication
import Storage
import Wire

/// The state of the disk that holds a store, and the reactions to a full or failed disk.
///
///     works ──no room──▶ full ──room again──▶ works
///       └───────────failed──┴──▶ broken, until the next start
///
/// While the disk is full, nothing is stored. Reading and sending continue, and peers are asked again later for what
/// could not be stored. After a failure nothing is retried, because a repeated transaction might appear to succeed and
/// still be gone after a power loss.
package struct DiskState: Sendable {
  package private(set) var isFull = false
  package private(set) var isBroken = false

  package var canStore: Bool { !isFull && !isBroken }

  /// Records one event and appends the required reactions to `effects`, in order.
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
        // Peers are asked to send the damaged set again; the rest of the store is fine.
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
  /// The node has started to serve. Opening the store may have used up the ballast.
  case started(lacksBallast: Bool)
  /// The store could not commit a transaction, or could not read.
  case failed(any Error)
  /// The shell has checked whether the disk has room.
  case looked(hasRoom: Bool)
}

/// Reactions to the state of the disk. The replicator performs `shrinkLog` and its part of `resume`; its shell performs
/// the rest.
package enum DiskEffect {
  /// Free the ballast, except for the reserve that `ReplicatorShell.freeReserve` uses.
  case shrinkBallast
  /// Allocate the ballast again.
  case holdBallast
  /// After a number of milliseconds, check whether the disk has room, and answer with `DiskInput.looked`. A newer
  /// request replaces an older one.
  case look(after: Moment)
  /// Checkpoint the write-ahead log into the database and free its space.
  case shrinkLog
  /// Store the values for which there was no room, and ask peers again.
  case resume
  /// End the process without writing again, because the store can't be trusted any more.
  case stop(any Error)
  /// Report a failed transaction that was not caused by the disk.
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

  /// Records that a transaction failed. Nothing of it was written.
  package func storeFailed(_ error: any Error) {
    // A failure never leads to `resume`, the only reaction that needs the time.
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
      // A full disk may have no room for the checkpoint either, and an open reader blocks the checkpoint.
      shell?.note(.logNotShortened(why: "\(error)"))
    }
  }
}
