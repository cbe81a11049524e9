import Engine
import Enrolment
import Home
import NodeOperations
import Replication
import Transport
import Wire

extension Node {
  /// Starts serving: listens, dials known peers, and syncs records if the gate allows it.
  ///
  /// - Parameters:
  ///   - listen: the `ADDR:PORT` to listen at; with port 0, any free port is taken.
  ///   - peers: addresses to dial in addition to the known ones.
  ///   - discovers: whether to send and receive beacons on this machine's networks.
  /// - Returns: the address at which the node listens.
  /// - Throws: `WaymarkError` with the code `address_in_use`, `address_not_here`, `closed`, or `serving` if the node is
  ///   already serving.
  @discardableResult
  public func serve(
    listen: String = "[::]:0", peers: [String] = [], discovers: Bool = false
  ) throws -> String {
    try core.checkOpen()
    if let serving = core.connections.serving {
      throw WaymarkError.failed(
        .serving, "This node is already serving, at \(serving.listening).", next: .waymark("status"))
    }
    try core.checkKeysAdmitted()
    guard let endpoint = Endpoint(listen) else {
      throw WaymarkError.badValue("listen", listen, allowed: "expected ADDR:PORT, such as [::]:7433")
    }
    let address = try core.connections.serve(at: endpoint, peers: peers, discovers: discovers)
    didBeginServing()
    return address
  }

  private func didBeginServing() {
    core.maintenance.pruneBackups()
    core.shareSchemas()
    OwnPremiumIssue(core).scheduleRenewal()
  }

  // MARK: Background and foreground

  /// Releases everything that an app must not hold in the background: closes all connections, finishes what is being
  /// written, closes the store and frees its lock.
  ///
  /// Until ``resume()``, calls fail with the code `suspended`. That includes calls that are waiting for something. Watches
  /// stay and are silent; they continue after `resume()`. Other programs, such as the command line, may use the home in
  /// the meantime.
  ///
  /// This returns once the lock is free, usually after some milliseconds. It waits for work that is going on, such as a
  /// backup, an export or a verification, so cancel the tasks of such work first. Suspending a node that is suspended or
  /// closed does nothing, and cancelling the task does not stop this call.
  public func suspend() async {
    if core.replicator.isOpen {
      suspendServices()
      core.suspend()
    } else {
      core.endResuming()
    }
    await core.untilReleased()
    await core.untilNotResuming()
  }

  /// Continues after ``suspend()``: takes the lock, opens the store, and serves as before if the node was serving.
  ///
  /// What other processes have written in the meantime is seen by all calls and watches. If another process uses the home
  /// right now, this waits for up to three seconds. Resuming an open node does nothing.
  ///
  /// - Throws: ``WaymarkError`` with the code `closed`; `store_held` if another process keeps the home open;
  ///   `keys_replaced` if this device got other keys, for example because it joined again; an error of opening a home; or
  ///   `suspended` if ``suspend()`` was called again. After these, the node is still suspended. If the node can't listen
  ///   again, the error is one of ``serve(listen:peers:discovers:)``, the node is open, and another call of `resume()`
  ///   tries again.
  public func resume() async throws {
    guard !core.isClosed else { throw WaymarkError.closed }
    if core.isSuspended {
      let suspensions = core.suspensions
      core.beginResume()
      defer { core.endResume() }
      await core.untilReleased()
      try await SuspectStore.check(home)
      try await Self.patiently { try core.resume(unlessSuspendedAfter: suspensions) }
    }
    if try core.resumeServing() { didBeginServing() }
    try resumeServices()
  }
}
