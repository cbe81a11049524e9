import Engine
import Membership
import RecordTables
import Replication
import Sodium
import VirtualDisk
import Wire

/// The ways in which a process ends.
enum Death {
  /// The machine keeps running, so nothing written is lost, and the operating system closes the links.
  case killed
  /// The machine goes off, so unsynced data may be lost, and peers don't notice.
  case powerLoss
  /// A clean shutdown: the process closes its store, which removes the write-ahead log.
  case stopped
}

extension World {
  /// Starts the process of a device.
  func start(_ device: Device) {
    guard !device.isGone, !device.isResting, device.process == nil else { return }
    device.disk.restart()
    if !isHealing, options.faults[.restart] != nil, random.happens(perThousand: 200) {
      device.isUpgraded = true
      mark("upgraded", on: device)
    }
    // Rebuilding the tables takes a few hundred writes, and so does filling them.
    let (chance, changes) = device.isUpgraded ? (700, 40..<400) : (150, 1..<60)
    perhapsEndInside(device, perThousand: chance, after: changes)
    do {
      let process = try Process(device, self)
      device.generation += 1
      device.process = process
      tally.count("starts")
      judged { try $0.started(process) }
      device.errorsAtStart = device.disk.counters.errors
      process.serve()
    } catch {
      // A failed start is acceptable if the disk failed or the process was killed during recovery.
      guard device.disk.hasStopped || device.disk.isFaulty else {
        return fail(.start, "\(device.name) can't open its store on a healthy disk: \(error)")
      }
      mark("failed start", on: device)
      device.isSuspect = true
      device.disk.restart()
      later(1_000 + random.wait(3_000), .start(device.number))
    }
  }

  /// Ends a process between two turns.
  func stop(_ device: Device, _ death: Death, restartAfter wait: Moment?) {
    guard let process = device.process else { return }
    if death != .stopped { process.volume.cut() }
    bury(process, death, restartAfter: wait)
  }

  /// Removes processes that died in the middle of a turn.
  func bury() {
    for device in devices {
      guard let process = device.process, process.isEnded else { continue }
      let death: Death = device.isDoomedToPowerLoss ? .powerLoss : .killed
      mark(death == .powerLoss ? "power lost inside a turn" : "killed inside a turn", on: device)
      bury(process, death, restartAfter: random.wait(2_000))
    }
  }

  private func bury(_ process: Process, _ death: Death, restartAfter wait: Moment?) {
    let device = process.device
    log?("  \(device.name) ends: \(death)")
    device.isDoomedToPowerLoss = false
    abandonLinks(of: process, isSilent: death == .powerLoss)
    judged { try $0.stopped(device) }
    process.replicator.close()
    process.volume.cut()
    if death == .stopped, !device.disk.names.contains(Device.storeFile + "-wal") {
      mark("log removed", on: device)
    }
    device.process = nil
    device.generation += 1
    if death == .powerLoss {
      let lost = device.disk.counters.namesLost
      device.disk.powerLoss(&random)
      if device.disk.counters.namesLost > lost { mark("names lost", on: device) }
      // All data that is left after a power loss is durable.
      device.isSuspect = false
    } else {
      device.disk.restart()
    }
    if let wait { later(wait, .start(device.number)) }
  }

  func resume(_ process: Process) {
    guard process.pausedUntil != nil else { return }
    process.pausedUntil = nil
    process.isTurnDue = false
    if !process.inbox.isEmpty {
      process.isTurnDue = true
      later(0, .turn(process.device.number, process.device.generation))
    }
    process.handle(.timer(.dial))
  }

  // MARK: Reports of processes

  func noted(_ event: ReplicaEvent, by device: Device) {
    switch event {
    case .inSync(let peer):
      judged { try $0.claimedInSync(device, with: devices.filter { $0.key == peer }) }
    case .digestMismatch(let peer, let lane) where device.isHonest && isHonest(peer):
      fail(.digest, "\(device.name) and \(name(of: peer)) have equal sets of \(lane) but different digests")
    case .membershipChanged where hasJustForked(device):
      // Let a user write at the very moment at which the fork becomes known.
      if device.isHonest { mark("learned of its own fork", on: device) }
      later(Moment(random.below(4)), .end(.words([device.number])))
    case .statementsCrowded: mark("too many statements of one signer", on: device)
    case .quotaExceeded: mark("quotas exceeded", on: device)
    case .laneClosed(_, .records, _): mark("records lanes closed", on: device)
    default: break
    }
    log?("  \(device.name): \(event)")
  }

  /// Whether a device has a proof that the log that it is writing has forked.
  private func hasJustForked(_ device: Device) -> Bool {
    guard let replicator = device.process?.replicator else { return false }
    return replicator.circle.evaluation.forkProofs.contains {
      ($0.log.device, $0.log.incarnation) == (device.key, replicator.incarnation)
    }
  }

  func noted(_ event: ReplicatorEvent, by device: Device) {
    switch event {
    case .began(_, let why):
      tally.count("new incarnation")
      mark("new incarnation because \(why)", on: device)
    case .spent: mark("incarnations spent", on: device)
    case .freed: mark("times that files were freed", on: device)
    case .damagedFile: mark("damaged files", on: device)
    case .logsRebuilt:
      markRebuild(of: device)
      judged { try $0.passed(device) }
    case .damaged(let sets):
      fail(.store, "\(device.name) reported damaged sets on an undamaged disk: \(sets)")
    case .repaired: mark("damaged sets replaced", on: device)
    case .discarded: mark("discarded sets deleted", on: device)
    case .logNotShortened: mark("log not shortened", on: device)
    case .override(let event): noted(event, by: device)
    case .unprovable(_, let why): fail(.fork, "\(device.name) can't prove a fork: \(why)")
    case .unprovableTree(_, let why): fail(.fork, "\(device.name) can't prove too many branches: \(why)")
    }
    log?("  \(device.name): \(event)")
  }

  func committed(_ report: CommitReport, by device: Device) {
    guard device.process?.isEnded != true else { return }
    tally.count("commits")
    tally.count("sets", by: report.placements.count)
    tally.count("forks", by: report.forks.count)
    markCommit(report, by: device)
    tally.count("sets beyond a quota", by: report.placements.count { $0 == .beyondQuota })
    // A branch proof follows within the step and rebuilds the logs. Messages composed before that describe the logs as
    // they are now.
    if !report.excessiveTrees.isEmpty { judged { try $0.passed(device) } }
  }

  func storeFailed(_ error: any Error, on device: Device) {
    mark("hit a disk error", on: device)
    log?("  \(device.name): store error: \(error)")
    guard device.disk.isFaulty else {
      return fail(.store, "the store of \(device.name) failed on a healthy disk: \(error)")
    }
  }

  func penalised(_ peer: DeviceKey, by device: Device, _ why: String) {
    guard device.isHonest, isHonest(peer) else { return tally.count("penalised adversary") }
    guard let peer = devices.first(where: { $0.key == peer }) else { return }
    judged { try $0.penalised(peer, by: device, why) }
  }

  func isHonest(_ key: DeviceKey) -> Bool {
    devices.filter { $0.key == key }.allSatisfy(\.isHonest)
  }

  func name(of key: DeviceKey) -> String { devices.first { $0.key == key }?.name ?? "\(key)" }
}

extension Disk {
  /// Whether operations on this disk can fail now.
  var isFaulty: Bool {
    faults.failure != nil || faults.capacity != nil || faults.readErrorsPerMillion > 0
      || faults.writeErrorsPerMillion > 0 || faults.syncErrorsPerMillion > 0
      || faults.shortReadsPerMillion > 0
  }
}
