// How a node is suspended and resumes
//
// An app that is moved to the background may be stopped at any moment. iOS ends an app that holds a lock on a file of a
// shared container by then, and its sockets are dead when it continues. So a suspended node holds nothing outside of its
// memory:
//
//     suspend ──▶ closes sockets and the store ──▶ waits until the last link and the last user of the store are gone
//     resume  ──▶ takes the lock, opens the store ──▶ new Replicator ──▶ wakes all watchers ──▶ serves as before
//
// A node that resumes reads everything again, as when a home is opened, because another process may have opened the home
// in the meantime. It may have written with the same keys, so the replica and its clock have to continue from what the
// store holds now; from what they knew before, they would fork this device's own log. Only what is not in the store
// outlives a suspension: the keys, watchers, tickets and counters.
//
// The closed replicator stays in place while the node is suspended, so that late blocks of links and timers find a node
// that is closed for them.

import Engine
import Enrolment
import Home
import Membership
import Reasons
import Storage
import Transport
import Wire

/// What a suspended node needs to resume.
struct Suspension {
  /// How the node served; nil if it did not.
  let serving: FormerServing?
  /// The store of a node in memory, which would be lost if it were closed; nil for a directory.
  let kept: Store?
  let circle: CircleID
  /// The hash of the key file; nil if it can't be read.
  let keyFileHash: [UInt8]?
}

extension NodeCore {
  /// Whether the node is suspended.
  package var isSuspended: Bool { suspension != nil }

  /// Whether the node is closed for good.
  package var isClosed: Bool { !replicator.isOpen && !isSuspended }

  // MARK: Suspending

  /// Closes all connections and the store. Calls that wait fail; watchers stay, and are silent.
  ///
  /// Call `untilReleased()` afterwards.
  package func suspend() {
    guard replicator.isOpen else { return }
    connections.remember()
    released = store
    suspensions += 1
    suspension = Suspension(
      serving: connections.suspend() ?? unresumedServing, kept: home.isInMemory ? store : nil,
      circle: circle.id, keyFileHash: home.keyFileHash)
    unresumedServing = nil
    answersCommands = false
    closeStore()
    loop.watching.forgetAlarm()
    logger.info("node", "suspended")
  }

  /// Ends attempts to resume that are under way: they fail at their next step.
  package func endResuming() {
    guard isSuspended else { return }
    suspensions += 1
  }

  /// Notes that an attempt to resume is under way, until `endResume()`. It may hold the lock of the home.
  package func beginResume() { resumesUnderWay += 1 }

  package func endResume() { resumesUnderWay -= 1 }

  /// Waits until no attempt to resume is under way.
  package func untilNotResuming(isolation: isolated (any Actor)? = #isolation) async {
    while isSuspended, resumesUnderWay > 0 { await pause(isolation: isolation) }
  }

  /// Waits until all sockets are closed, and until nothing uses the store any more, so that its lock is free.
  ///
  /// Calls that wait have failed by now. Calls with work on another queue, such as a backup, which may read the store
  /// there, end when that work ends.
  package func untilReleased(isolation: isolated (any Actor)? = #isolation) async {
    var waited = 0
    while !replicator.isOpen, !connections.isQuiet, waited < Self.goodbyeMilliseconds * 2 {
      // A peer that reads nothing must not delay this.
      if waited == Self.goodbyeMilliseconds { connections.abandonLinks() }
      await pause(isolation: isolation)
      waited += 1
    }
    while isSuspended, callsUnderWay > 0 || suspension?.kept == nil && released != nil {
      await pause(isolation: isolation)
    }
  }

  /// Waits a millisecond, whatever clock the node has and whether or not the task is cancelled.
  private func pause(isolation: isolated (any Actor)?) async {
    await withCheckedContinuation { continuation in
      // The closure captures the actor to stay on the node's queue; see `wait`.
      _ = isolation
      loop.executor.after(milliseconds: 1) { continuation.resume() }
    }
  }

  /// How long links may take to send what is queued.
  private static let goodbyeMilliseconds = 250

  // MARK: Resuming

  /// Opens the store again, and continues with what it holds now. Does nothing if the node is open.
  ///
  /// - Parameter suspensions: the number of suspensions when the node was asked to resume. If it has been suspended again
  ///   since, it stays suspended.
  /// - Throws: `WaymarkError`; the node stays suspended then.
  package func resume(unlessSuspendedAfter suspensions: Int) throws {
    guard self.suspensions == suspensions else { throw WaymarkError.suspended }
    // The node may have been closed, or resumed by another call.
    guard let suspension else { return try checkOpen() }
    do {
      try open(suspension)
    } catch {
      throw WaymarkError.opening(home, error)
    }
    logger.info("node", "resumed")
    loop.watching.changedEverything()
  }

  private func open(_ suspension: Suspension) throws {
    let store: Store
    if let kept = suspension.kept {
      store = kept
    } else {
      try home.prepare()
      try home.finishReplacing(at: clock.wall())
      store = try home.openStore(adding: environment.apps)
    }
    // The lock is held by now, so no other process can replace the keys any more.
    guard try !identity.differs(from: home, unlessFileHas: suspension.keyFileHash) else {
      throw WaymarkError.keysReplaced(home)
    }
    let stored = try Self.state(of: store, home, environment)
    guard stored.circle.id == suspension.circle else { throw WaymarkError.keysReplaced(home) }
    let waiting = try stored.admission(of: identity, in: home)
    let remembered = try PeerHistory(store)
    let replicator = try Self.replicator(store, stored, home, identity, clock)
    // From here on, nothing fails.
    loop.reopen(replicator)
    connections.reopen(stored, waiting: waiting, remembered)
    replicator.shell = shell
    maintenance.reopen()
    unresumedServing = suspension.serving
    openings += 1
    self.suspension = nil
    readQueue?.open()
  }

  /// Serves as before the suspension. Does nothing if the node did not serve, or serves already.
  ///
  /// - Returns: whether the node began to serve.
  /// - Throws: `WaymarkError` if it can't listen; a later call tries again.
  package func resumeServing() throws -> Bool {
    guard let former = unresumedServing else { return false }
    if !isServing { try connections.serve(as: former) }
    unresumedServing = nil
    return true
  }
}
