import ChangeHistory
import Engine
import Enrolment
import FileFormat
import FileStore
import Home
import JSONDocument
import Membership
import Model
import Reasons
import RecordTables
import Replication
import Storage
import Transport
import Wire

/// A problem that `status` shows until it is resolved or the node restarts.
enum NodeNotice: Hashable, Sendable {
  case storeFailed(String)
  case digestMismatch(device: DeviceKey, Lane)
}

/// The node's side of the replicator: sends messages, closes links and sets timers as the replicator requests, logs the
/// replicator's events, and keeps the notices that `status` shows.
package final class NodeShell: ReplicatorShell {
  private let loop: EventLoop
  private let connections: Connections
  private let maintenance: StoreMaintenance
  private let logger: NodeLog
  /// The queue on which received files are made durable.
  private let fileQueue: QueueExecutor
  private(set) var notices: [NodeNotice] = []
  /// The number of members that was last logged.
  private var loggedMembers = 0
  /// The signers for which a log message about too many statements was already written.
  private var loggedSigners: Set<DeviceKey> = []

  init(
    _ loop: EventLoop, _ connections: Connections, _ maintenance: StoreMaintenance, files: QueueExecutor,
    log: NodeLog
  ) {
    self.loop = loop
    fileQueue = files
    self.connections = connections
    self.maintenance = maintenance
    self.logger = log
  }

  // MARK: Links

  func send(_ message: [UInt8], to link: LinkID, as sendClass: SendClass) {
    connections.send(message, to: link, as: sendClass)
  }

  func close(_ link: LinkID, _ cause: CloseCause) { connections.close(link, cause) }

  func isCongested(_ link: LinkID, for sendClass: SendClass) -> Bool {
    connections.isCongested(link, for: sendClass)
  }

  func replied(_ link: LinkID, _ reply: Reply) -> Input? { connections.questions.end(link, reply) }

  // MARK: Turns

  func schedule(_ timer: ReplicaTimer, after milliseconds: Moment) {
    loop.schedule(.replica(timer), after: milliseconds) {
      $0.loop.timers.forget(.replica(timer))
      $0.loop.handle(.timer(timer))
    }
  }

  func beginPiece() -> () -> Bool {
    let clock = loop.clock
    let end = clock.steady() + Limits.turnMilliseconds
    return { clock.steady() >= end }
  }

  func beginMeasuring() -> () -> Moment {
    let clock = loop.clock
    let start = clock.steady()
    return { clock.steady() - start }
  }

  func goOnSoon() {
    loop.onQueue { node in
      node.loop.turn { $0.goOn(now: node.loop.time) }
      node.connections.takeInboxes()
    }
  }

  // MARK: Files

  /// Syncing a large file, or many small ones, takes long, and meanwhile the node receives more and answers commands.
  func finish(_ files: [FileReference], in store: FileStore) {
    let onQueue = loop.onQueue
    fileQueue.async {
      let hasFailed = (try? store.finish(files)) == nil
      onQueue { node in
        node.loop.turn { $0.finished(files, hasFailed: hasFailed, now: node.loop.time) }
      }
    }
  }

  /// Waits until no more file is being written, so that another process can open the home.
  func endFiles() { fileQueue.sync {} }

  // MARK: The store

  func noting(_ report: CommitReport) throws {
    try MassDeletions.note(
      report, in: loop.store, exceptBy: connections.identity.device, seen: connections.remembered.syncedSets)
  }

  func didCommit(_ report: CommitReport) {
    maintenance.scheduleCheckpoint(after: report)
    connections.counters.add(report)
    loop.watching.changed(by: report)
    // A commit succeeded, so the failure is over.
    notices.removeAll { if case .storeFailed = $0 { true } else { false } }
    guard report.changedValues, report.kinds.contains(where: { $0.lane == .settings }) else { return }
    loop.core?.settingsDidFold()
  }

  func perform(_ effect: DiskEffect) {
    maintenance.perform(effect)
    if case .report(let error) = effect { add(.storeFailed("\(error)")) }
  }

  func freeReserve() -> Bool { maintenance.ballast.releaseReserve() }

  // MARK: Events

  private func add(_ notice: NodeNotice) {
    guard !notices.contains(notice) else { return }
    notices.append(notice)
    loop.nodeChanged()
  }

  func note(_ event: ReplicaEvent) {
    switch event {
    case .peerJoined(let device, let link):
      let isSecond = loop.replica.sessions.values.contains { $0.device == device && $0.link != link }
      let text = "connected to \(connections.name(of: device))"
      // If two devices dial each other at the same time, one of the two links is closed at once.
      if isSecond { logger.debug("peers", text + ", again") } else { logger.info("peers", text) }
      connections.serving?.identified(link, as: device, at: loop.wall)
      connections.handle(.joined(link, device))
      connections.rememberSoon()
    case .laneOpened(let device, let lane):
      logger.info("sync", "\(lane) open with \(connections.name(of: device))")
    case .laneClosed(let device, let lane, let reason):
      logger.info("sync", "\(lane) closed with \(connections.name(of: device)): \(Reason(reason).rawValue)")
    case .inSync(let device):
      logger.debug("sync", "in sync with \(connections.name(of: device))")
      let open = Lane.allCases.filter { loop.replica.session(with: device)?[$0].isOpen ?? false }
      connections.remembered.syncedSets.note(open, upTo: loop.store.newestNumber)
      connections.rememberSoon()
      notices.removeAll {
        if case .digestMismatch(device, _) = $0 { true } else { false }
      }
    case .digestMismatch(let device, let lane):
      logger.error(
        "sync", "\(lane): same change sets but different digest on \(connections.name(of: device))")
      add(.digestMismatch(device: device, lane))
    case .membershipChanged:
      let members = loop.circle.evaluation.members.count
      if members != loggedMembers { logger.info("circle", "\(plural(members, "device")) in the circle") }
      loggedMembers = members
      connections.logExclusion()
      connections.learnAddresses()
      // The event is reported within a turn, and completing a departure is another turn.
      if !loop.circle.evaluation.leaving.isEmpty { loop.onQueue { $0.connections.completeDepartures() } }
    case .statementsCrowded(let signers):
      for signer in signers.sorted() where loggedSigners.count < 64 && loggedSigners.insert(signer).inserted {
        logger.warning(
          "circle",
          "limit reached for certificates signed by \(connections.name(of: signer)); some are dropped")
      }
    case .quotaExceeded(let device, let lane):
      logger.warning(
        "sync", "\(connections.name(of: device)) wrote more \(lane) than its quota; the rest is not stored")
    case .gateChanged:
      logger.gate(loop.replica.ownGate(now: loop.wall))
      loop.core?.followInvitationSoon()
    case .acknowledgedRevocations: break
    }
  }

  func note(_ event: ReplicatorEvent) {
    switch event {
    case .began(_, let why): logger.warning("log", "this device started a new log: \(why)")
    case .spent(let why):
      logger.error("log", "this device can't write any more because it has started too many logs: \(why)")
    case .discarded(let count):
      logger.info("log", "deleted \(plural(count, "change set")) of revoked devices")
    case .logsRebuilt:
      logger.info("log", "rebuilt the logs because a cut has changed")
      connections.remembered.syncedSets.renumber(upTo: loop.store.newestNumber)
      do { try connections.remembered.syncedSets.save(to: loop.store) } catch {
        loop.replicator.storeFailed(error)
      }
      loop.core?.settingsDidFold()
      loop.watching.changedEverything()
    case .damaged(let sets):
      logger.error(
        "store",
        "\(plural(sets.count, "stored change set")) damaged on disk: \(connections.names.list(sets)). "
          + "Not sent to peers; requested from peers that have a copy. Next: waymark status")
    case .repaired(let sets):
      logger.info(
        "store",
        "repaired \(plural(sets.count, "damaged change set")) from peers: \(connections.names.list(sets))")
    case .logNotShortened(let why):
      logger.warning("store", "the write-ahead log was not shortened, retrying after the next change: \(why)")
    case .freed(let freed):
      connections.counters.add(freed)
      logger.info(
        "files", "deleted \(plural(freed.files, "file")) whose records are gone: \(freed.bytes) bytes freed")
    case .damagedFile(let file):
      logger.error(
        "files",
        "the file \(file.id.description.prefix(8)) (\(file.size) bytes) is damaged on disk; "
          + "fetching it again from peers that have a copy. Next: waymark files")
    case .override(let event):
      if case .dropped = event { loop.nodeChanged() }
      if let line = event.line { logger.info("override", line) }
    case .unprovableTree(let tree, let why):
      logger.error(
        "log", "can't create a proof of the branches that \(connections.name(of: tree.device)) wrote: \(why)")
    case .unprovable(let fork, let why):
      logger.error(
        "log", "can't create a proof of \(connections.name(of: fork.set.header.log.device))'s fork: \(why)")
    }
  }
}

extension NodeLog {
  /// Logs whether premium is active, its source, and the state of the records lane. This is called at the start and at
  /// every change.
  func gate(_ gate: Gate) {
    let until = gate.validUntil.map { " until \(CivilTime.text($0))" } ?? ""
    info(
      "gate",
      "premium \(gate.isPremium ? "active" : "inactive") (source \(gate.source.rawValue)\(until)), "
        + "records lane \(gate.reason.map { "closed: \(Reason($0).rawValue)" } ?? "open")")
  }
}
