import Engine
import Membership
package import Replication
import Storage
import Transport
import Wire

extension Node {
  /// Takes in one event and carries out what follows from it.
  func handle(_ input: Input) { handle([input]) }

  /// Takes in events that came together: the sets among them share one transaction.
  func handle(_ inputs: [Input]) { turn { $0.handle(inputs, now: time) } }

  /// Has the replicator do something, then looks at what has waited for it.
  func turn(_ body: (Replicator) throws -> Void) rethrows {
    try body(replicator)
    afterTurn()
  }

  func afterTurn() { evaluateWaiters() }

  /// Folds parked sets whose time has come: a command sees them also where no node runs.
  ///
  /// Every read comes through here, so watchers are told only if something was folded: one that was told of its own
  /// read would read again, and again.
  func foldDue() throws {
    if try replicator.foldDue(now: time) { afterTurn() }
  }

  /// Goes on with sets that had no room in this turn, behind whatever else waits for one.
  func goOnSoon() {
    executor.async { [weak self] in
      self?.assumeIsolated { node in
        node.turn { $0.goOn(now: node.time) }
        node.takeInboxes()
      }
    }
  }

  func schedule(_ timer: ReplicaTimer, after milliseconds: Moment) {
    timers.schedule(.replica(timer), after: milliseconds) { [weak self] in
      self?.assumeIsolated {
        $0.timers.forget(.replica(timer))
        $0.handle(.timer(timer))
      }
    }
  }

  /// What the replica takes for the time.
  var time: Now { Now(wall: wall(), steady: steady) }

  package nonisolated func wall() -> Moment { clock.wall() }

  /// The clock by which things wait.
  nonisolated var steady: Moment { clock.steady() }
}
