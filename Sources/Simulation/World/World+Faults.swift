import Engine
import Membership
import Replication
import Sodium
import Storage
import VirtualDisk
import Wire

/// A fault that lasts for a while, and what ends it.
enum Ending {
  case weather(latency: Moment, jitter: Moment, bytesPerMillisecond: Int, refusals: Int)
  case disk(Int)
  case slowDisk(Int, Int)
  case pausedPeer(Int, DeviceKey)
  /// Of several copies of a device others run now.
  case turn(rests: [Int], runs: [Int], isLast: Bool)
  /// Somebody writes at these devices, copies of one another.
  case words([Int])
  /// The same, one word after the other, without a start in between.
  case stream([Int])
  /// Somebody wants sync again.
  case wish(Int)
  /// Who took a device out of the circle is taken out itself.
  case turnOfTide(Int, Int)
  /// A device is taken out here and there, by some who have not heard of each other.
  case verdicts(Int, near: [Int])
  /// From now on a device hears of the others through one alone.
  case hearsay(Int)
  /// A member that delivers nothing promises much.
  case promises(Int)
  /// A member that has promised everything brings a little of it.
  case trickle(Int)
  /// Somebody decides whose records are the right ones, at this device.
  case direct(Int)
  /// What a device asks for to become what another is is here, or waited for no longer.
  case inquiry(Int, Int)
  /// From now on what comes to a device comes from its neighbours in a line.
  case line
}

extension World {
  /// Lets one thing go wrong, of those that do in this run.
  func causeFault() {
    later(random.wait(options.faultsEvery), .fault)
    let faults = options.faults.sorted { $0.key.rawValue < $1.key.rawValue }
    var left = random.below(max(faults.reduce(0) { $0 + $1.value }, 1))
    for (fault, weight) in faults {
      left -= weight
      guard left < 0 else { continue }
      log?("  fault: \(fault)")
      if cause(fault) {
        self.faults += 1
        tally.count("fault \(fault)")
      }
      return
    }
  }

  /// False if there was nothing that it could happen to.
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
      // Elsewhere; or it has got another address besides, where it is.
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

  /// Two groups that don't hear of one another; or only one of the other.
  private func divide(_ time: Moment) {
    let isOneWay = random.happens(perThousand: 200)
    divide(time, isOneWay: isOneWay) { _ in self.random.happens(perThousand: 500) }
  }

  /// For a while a device hears of the others through one alone, whose records lane is closed: what is said of the circle
  /// goes ahead of the sets that it is about.
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
      // A copy of the device would take its link.
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

  /// What a node does when it is quiet; its log gets a length that is soon passed.
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

  /// A process is killed in the midst of what it seldom does: chance alone hardly ever meets that.
  func perhapsEndInside(_ device: Device, perThousand chance: Int = 300, after changes: Range<Int> = 1..<60) {
    guard !isHealing, options.faults[.killInside] != nil, random.happens(perThousand: chance) else { return }
    device.disk.faults.changesUntilStop = random.logarithmic(changes.lowerBound, changes.upperBound)
  }

  /// A copy of the disk, made now, takes its place later: a backup that somebody puts back.
  private func restore(_ device: Device) -> Bool {
    if let backup = device.backup, random.happens(perThousand: 600) {
      stop(device, .killed, restartAfter: random.wait(1_000))
      device.disk = backup
      device.backup = nil
      device.storeIdentity = random.next()
      judged { try $0.restored(device) }
      tally.count("restored")
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
      // A directory is synced only where a node starts or has a new log: chance alone hardly ever meets that.
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
      // What one fault found when it began, another may have caused: after the healing that is over too.
      guard !isHealing else { return }
      (weather.latency, weather.jitter) = (latency, jitter)
      (weather.bytesPerMillisecond, weather.refusals) = (bytes, refusals)
    case .disk(let number): devices[number].disk.mend()
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
      // Little more than what clocks may differ by: what is written now waits for a short while elsewhere.
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
  /// What comes from now on works; what is damaged stays so.
  func mend() {
    let stop = faults.changesUntilStop
    faults = DiskFaults()
    faults.changesUntilStop = stop
  }
}
