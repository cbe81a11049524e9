import Engine
import FileFormat
import Membership
import Replication
import Sodium
import Storage
import VirtualDisk
import Wire

/// A delayed action: the end of a fault that lasts for a while, or a later stage of one.
enum Ending {
  case weather(latency: Moment, jitter: Moment, bytesPerMillisecond: Int, refusals: Int)
  case disk(Int)
  case slowDisk(Int, Int)
  case pausedPeer(Int, DeviceKey)
  /// Some copies of a device stop, and others start.
  case turn(rests: [Int], runs: [Int], isLast: Bool)
  /// A user writes on these devices, which are copies of each other.
  case words([Int])
  /// A user makes one of a series of writes on each of these devices, which are not restarted in between.
  case stream([Int])
  /// A user turns sync on again.
  case wish(Int)
  /// A revocation is reversed: the first device, which revoked the second device, is itself revoked.
  case turnOfTide(Int, Int)
  /// A device is revoked independently in both parts of a circle.
  case verdicts(Int, near: [Int])
  /// For a while from now on, a device is connected to the others only through one of them.
  case hearsay(Int)
  /// An adversary that delivers nothing announces sets of every log.
  case promises(Int)
  /// An adversary that has announced everything delivers one small set.
  case trickle(Int)
  /// A user of this device begins an override.
  case direct(Int)
  /// A user gives up waiting for a file.
  case stopAsking(Int, Int, FileReference)
  /// The inquiry that precedes an override is complete, or has timed out.
  case inquiry(Int, Int)
  /// From now on, devices are connected in a line, each only to its neighbours.
  case line
}

extension World {
  /// Causes one of the faults of this run, chosen by their weights.
  func causeFault() {
    later(random.wait(options.faultsEvery), .fault)
    if let frequentFault, random.happens(perThousand: 500) { return attempt(frequentFault) }
    let faults = options.faults.sorted { $0.key.rawValue < $1.key.rawValue }
    var left = random.below(max(faults.reduce(0) { $0 + $1.value }, 1))
    for (fault, weight) in faults {
      left -= weight
      if left < 0 { return attempt(fault) }
    }
  }

  private func attempt(_ fault: Fault) {
    log?("  fault: \(fault)")
    guard cause(fault) else { return }
    faults += 1
    tally.count("fault \(fault)")
    marks.note(fault)
  }

  /// Causes a fault; returns false if there was nothing that the fault could affect.
  private func cause(_ fault: Fault) -> Bool {
    switch fault {
    case .delay, .clog, .partition, .oneWay, .flap, .cut, .halfOpen, .narrow, .refused, .move, .address,
      .hearsay:
      network(fault)
    case .kill, .killInside, .powerLoss, .crashLoop, .pause, .restart, .restore, .clone, .lostPlace:
      processes(fault)
    case .diskFull, .readError, .writeError, .syncError, .slowDisk: disks(fault)
    case .skew, .drift, .jump, .farJump, .freeze: clocks(fault)
    case .buy, .expire, .preference, .revoke, .mutual, .strangerIssuer, .invite, .restamp, .crossed, .torn,
      .pausePeer:
      authority(fault)
    case .override: direct()
    case .killInFile, .fullInFile, .alterLeaf, .keepPolicy, .trashDays, .dayJump: files(fault)
    default: misbehave(fault)
    }
  }

  var running: [Device] { devices.filter { $0.process != nil } }

  // MARK: Network

  private func network(_ fault: Fault) -> Bool {
    let for_ = 200 + random.wait(20_000)
    switch fault {
    case .delay:
      weather(for: for_) {
        $0.latency = Moment(random.logarithmic(20, 5_000)); $0.jitter = $0.latency
      }
    case .narrow: weather(for: for_) { $0.bytesPerMillisecond = random.logarithmic(1, 100) }
    case .refused: weather(for: for_) { $0.refusals = 200 + random.below(800) }
    case .clog, .oneWay:
      guard let from = random.pick(devices), let to = random.pick(devices), from !== to else { return false }
      block(from, to, for_)
      if fault == .clog { block(to, from, for_) }
    case .partition: divide(for_)
    case .hearsay:
      guard let device = random.pick(devices) else { return false }
      return hearsay(device, someTime())
    case .flap:
      guard let one = random.pick(devices), let other = random.pick(devices), one !== other else {
        return false
      }
      for time in 0..<5 { block(one, other, Moment(time) * 300 + 100) }
    case .cut:
      guard let link = random.pick(links.values.sorted { $0.id < $1.id }) else { return false }
      breakLink(link)
    case .halfOpen:
      guard let link = random.pick(links.values.sorted { $0.id < $1.id }) else { return false }
      let end = random.below(2)
      guard link.isOpen[end] else { return false }
      link.isOpen[end] = false
      process(of: link, end)?.receive(.input(.closed(link.id)))
    default:
      guard let device = random.pick(devices) else { return false }
      device.place += 1
      // Either the device moves to another network, or it stays and gets an additional address.
      if fault == .move {
        device.oldestPlace = device.place
        for link in links.values.sorted(by: { $0.id < $1.id }) where link.devices.contains(device.number) {
          breakLink(link)
        }
      }
      if device.process?.isServing == true { device.process?.announce() }
    }
    return true
  }

  private func weather(for time: Moment, _ change: (inout Weather) -> Void) {
    let old = weather
    later(
      time,
      .end(
        .weather(
          latency: old.latency, jitter: old.jitter, bytesPerMillisecond: old.bytesPerMillisecond,
          refusals: old.refusals)))
    change(&weather)
  }

  private func block(_ from: Device, _ to: Device, _ time: Moment) {
    let path = Weather.Path(from: from.number, to: to.number)
    weather.blocked[path] = max(weather.blocked[path] ?? 0, now + time)
  }

  /// Partitions the devices into two random groups, sometimes in one direction only.
  private func divide(_ time: Moment) {
    let isOneWay = random.happens(perThousand: 200)
    divide(time, isOneWay: isOneWay) { _ in self.random.happens(perThousand: 500) }
  }

  /// For a while, connects a device to the others only through one device whose records lane is closed, so that the
  /// circle's statements arrive before the sets that they concern. Returns false if there is no such device.
  func hearsay(_ device: Device, _ time: Moment) -> Bool {
    let others = devices.filter { $0.key != device.key && $0.isHonest && $0.process != nil }
    let near = others.filter { other in
      links.values.contains { Set($0.devices) == Set([device.number, other.number]) }
    }
    guard !isHealing, let herald = random.pick(near.isEmpty ? others : near) else { return false }
    for other in devices where other !== device && other !== herald {
      block(device, other, time)
      block(other, device, time)
      guard other.key == device.key else { continue }
      // If a copy of the device were also connected, it would replace the device's link.
      block(herald, other, time)
      block(other, herald, time)
    }
    if herald.preference {
      prefer(herald, false)
      later(time, .end(.wish(herald.number)))
    }
    return true
  }

  func divide(_ time: Moment, isOneWay: Bool = false, _ isOnOneSide: (Device) -> Bool) {
    let side = devices.map(isOnOneSide)
    for from in devices {
      for to in devices where side[from.number] != side[to.number] && !(isOneWay && side[from.number]) {
        block(from, to, time)
      }
    }
  }

  // MARK: Processes

  /// Does the work of an idle node, and reserves a write-ahead log that is so small that the log soon has to grow
  /// again. Returns false if the disk failed.
  private func rests(_ store: Store) -> Bool {
    do {
      try store.rest()
      try store.reserveLog(1 << 16)
      return true
    } catch {
      return false
    }
  }

  private func processes(_ fault: Fault) -> Bool {
    guard let device = random.pick(running), let process = device.process else { return false }
    log?("  on \(device.name)")
    switch fault {
    case .kill: stop(device, .killed, restartAfter: random.wait(3_000))
    case .restart:
      guard rests(process.replicator.store) else { return false }
      let death = random.happens(perThousand: 500) ? Death.stopped : .killed
      stop(device, death, restartAfter: random.wait(1_000))
    case .killInside: device.disk.faults.changesUntilStop = random.logarithmic(1, 200)
    case .powerLoss:
      device.isDoomedToPowerLoss = true
      if random.happens(perThousand: 500) {
        device.disk.faults.changesUntilStop = random.logarithmic(1, 100)
      } else {
        stop(device, .powerLoss, restartAfter: random.wait(5_000))
      }
    case .crashLoop:
      process.effectsUntilStop = random.below(30)
    case .pause:
      let time = Moment(random.logarithmic(1, 3_600_000))
      process.pausedUntil = now + time
      later(time, .resume(device.number, device.generation))
    case .restore: return restore(device)
    case .clone: return clone(device)
    default:
      stop(device, .killed, restartAfter: random.wait(1_000))
      device.storeIdentity = random.next()
    }
    return true
  }

  /// Sometimes plans a kill during the operation that follows. Such operations are so rare that random kills would
  /// hardly ever hit them.
  func perhapsEndInside(_ device: Device, perThousand chance: Int = 300, after changes: Range<Int> = 1..<60) {
    guard !isHealing, options.faults[.killInside] != nil, random.happens(perThousand: chance) else { return }
    device.disk.faults.changesUntilStop = random.logarithmic(changes.lowerBound, changes.upperBound)
  }

  /// Takes a backup of a device's disk, or restores the backup taken before.
  private func restore(_ device: Device) -> Bool {
    if let backup = device.backup, random.happens(perThousand: 600) {
      stop(device, .killed, restartAfter: random.wait(1_000))
      device.disk = backup
      device.backup = nil
      device.storeIdentity = random.next()
      judged { try $0.restored(device) }
      mark("restored", on: device)
    } else {
      device.backup = device.disk.copy()
    }
    return true
  }

  // MARK: Disks

  private func disks(_ fault: Fault) -> Bool {
    guard let device = random.pick(running), let process = device.process else { return false }
    log?("  on \(device.name)")
    switch fault {
    case .diskFull: device.disk.faults.capacity = device.disk.used + random.below(100_000)
    case .readError: device.disk.faults.readErrorsPerMillion = random.logarithmic(10, 20_000)
    case .writeError: device.disk.faults.writeErrorsPerMillion = random.logarithmic(10, 20_000)
    case .syncError:
      device.disk.faults.syncErrorsPerMillion = random.logarithmic(100, 200_000)
      // Directories are synced only at a start or for a new write-ahead log, so random errors would hardly ever hit
      // these syncs.
      guard random.happens(perThousand: 300) else { break }
      device.disk.faults.failure = DiskFaults.Failure(
        .inputOutput, at: [.syncDirectory], after: 0, lasts: false)
    default:
      process.turnMilliseconds = Moment(random.logarithmic(10, 2_000))
      later(random.wait(20_000), .end(.slowDisk(device.number, device.generation)))
      return true
    }
    later(500 + random.wait(20_000), .end(.disk(device.number)))
    return true
  }

  func end(_ ending: Ending) {
    switch ending {
    case .weather(let latency, let jitter, let bytes, let refusals):
      // The old values may come from another fault that has ended in the meantime, so don't restore them after healing.
      guard !isHealing else { return }
      (weather.latency, weather.jitter) = (latency, jitter)
      (weather.bytesPerMillisecond, weather.refusals) = (bytes, refusals)
    case .disk(let number): devices[number].disk.clearFaults()
    case .slowDisk(let number, let generation):
      if devices[number].generation == generation { devices[number].process?.turnMilliseconds = 2 }
    case .words(let numbers): writeWords(at: numbers)
    case .stream(let numbers):
      for device in numbers.map({ devices[$0] }) where device.process?.isServing == true {
        writeLastWord(device, alsoSettings: false)
      }
    case .promises(let number): promiseMuch(number)
    case .trickle(let number): trickle(number)
    case .direct(let number):
      guard !isHealing else { return }
      if !direct(at: devices[number]) { later(someTime(), .end(.wish(number))) }
    case .inquiry(let number, let generation):
      guard devices[number].generation == generation, let process = devices[number].process else { return }
      endInquiry(process)
    case .line: standInLine()
    case .stopAsking(let number, let generation, let file):
      guard devices[number].generation == generation, let process = devices[number].process else { return }
      stopAsking(for: file, process)
    case .wish(let number): if !isHealing { prefer(devices[number], true) }
    case .hearsay(let number): _ = hearsay(devices[number], someTime())
    case .turnOfTide(let number, let other): if !isHealing { turnTide(devices[number], devices[other]) }
    case .verdicts(let number, let near): if !isHealing { passVerdicts(on: devices[number], near: near) }
    case .turn(let rests, let runs, let isLast): change(rests: rests, runs: runs, isLast: isLast)
    case .pausedPeer(let number, let peer):
      guard devices[number].pausedPeers.remove(peer) != nil else { return }
      devices[number].process?.handle(.resumed(peer))
    }
  }

  // MARK: Clocks

  private func clocks(_ fault: Fault) -> Bool {
    guard let device = random.pick(devices) else { return false }
    tally.count("clock \(fault)")
    device.clock.change(at: now)
    let minutes = Self.driftMilliseconds
    switch fault {
    case .skew: device.clock.offset = Moment(random.below(Int(2 * minutes))) - minutes
    case .drift: device.clock.change(at: now, drift: Moment(random.below(100_000)) - 50_000)
    case .jump where random.happens(perThousand: 500):
      // Set the clock ahead by about the tolerated drift, so that other devices park new sets for a short while.
      device.clock.offset = minutes + Moment(random.below(10_000)) - 2_000
    case .jump: device.clock.offset += Moment(random.below(7_200_000)) - 3_600_000
    case .farJump:
      let years = Moment(random.below(20)) - 10
      device.clock.offset += years * 365 * 86_400_000
    default: device.clock.change(at: now, isFrozen: true)
    }
    return true
  }
}

extension Disk {
  /// Clears all faults except a planned kill. Existing damage remains.
  func clearFaults() {
    let stop = faults.changesUntilStop
    faults = DiskFaults()
    faults.changesUntilStop = stop
  }
}
