import Engine
import Membership
import Replication
import Sodium
import Storage
import VirtualDisk
import Wire

/// Changes of authority: purchases, preferences, invitations and revocations.
extension World {
  /// Makes a user change something about authority; returns false if nothing could be done.
  func authority(_ fault: Fault) -> Bool {
    guard let device = random.pick(devices.filter { $0.process?.isServing == true }) else { return false }
    switch fault {
    case .preference: prefer(device, random.happens(perThousand: 600))
    case .buy, .expire, .strangerIssuer: return entitle(device, fault)
    case .revoke, .mutual, .crossed: return revoke(by: device, fault)
    case .torn: return tear(device)
    case .restamp: return restamp(device)
    case .pausePeer:
      guard let peer = random.pick(devices.filter { $0.key != device.key }) else { return false }
      device.pausedPeers.insert(peer.key)
      device.process?.handle(.paused(peer.key))
      later(random.wait(20_000), .end(.pausedPeer(device.number, peer.key)))
    default: return invite(by: device)
    }
    return true
  }

  func prefer(_ device: Device, _ wants: Bool) {
    device.preference = wants
    if !wants { dropOverride(device) }
    judged { try $0.preferred(device) }
    device.process?.handle([.preferenceChanged(wants)])
  }

  func learn(_ device: Device, _ statement: Membership.Statement) {
    device.process?.handle([.statementsAdded([statement.bytes])])
  }

  /// Issues an entitlement that begins or ends soon, or whose issuer the circle does not know.
  private func entitle(_ device: Device, _ fault: Fault) -> Bool {
    let begin = now + Moment(random.below(60_000)) - 50_000
    let end =
      fault == .expire ? max(begin, now) + Moment(random.logarithmic(500, 60_000)) : begin + Self.start
    let key = fault == .strangerIssuer ? authority.stranger : nil
    let target = random.happens(perThousand: 700) ? random.pick(unpaid) ?? device : device
    let devices = random.happens(perThousand: 850) ? [target.key] : nil
    // An unknown issuer may date its entitlement far in the future, which must not move the gate's time.
    let isFarAhead = key != nil && random.happens(perThousand: 400)
    let issuedAt = isFarAhead ? now + 30 * 365 * 86_400_000 : min(begin, now)
    guard
      let statement = try? authority.entitlement(for: devices, begin..<end, issuedAt: issuedAt, by: key)
    else { return false }
    learn(device, statement)
    return true
  }

  private func invite(by device: Device) -> Bool {
    guard devices.count < 12, let process = device.process, process.isMember else { return false }
    // Never reuse a guest's keys: its certificate may have spread even if the inviting device was killed while signing.
    guests += 1
    guard let keys = try? DeviceKeys("guest-\(guests)", seed: options.seed),
      let statement = try? authority.certificate(for: keys, by: device.keys.signing, at: device.wall)
    else { return false }
    learn(device, statement)
    if options.quota > 0, device.isHonest, !process.isEnded {
      for grant in (try? grants(to: keys.device, Self.ample)) ?? [] { learn(device, grant) }
    }
    guard !process.isEnded else { return true }
    let guest = Device(keys, number: devices.count, world: self, isHonest: device.isHonest, preference: true)
    guest.addressBook = [device.address]
    guest.firstStatements = process.replicator.circle.statements(notIn: [])
    devices.append(guest)
    later(random.wait(1_000), .start(guest.number))
    mark("invited", on: guest)
    return true
  }

  /// Revokes a random other device. With the fault `mutual`, that device also revokes this one; with `crossed`, a third
  /// device revokes the other device too.
  private func revoke(by device: Device, _ fault: Fault) -> Bool {
    let others = devices.filter { $0.key != device.key && !$0.isGone }
    guard let other = random.pick(others), maySpare(other) else { return false }
    guard revoke(other, by: device) else { return false }
    if fault == .mutual { _ = revoke(device, by: other) }
    if fault == .revoke, random.happens(perThousand: 500) { overturn(device, other) }
    if fault == .crossed, let third = random.pick(others.filter({ $0.key != other.key })) {
      _ = revoke(other, by: third)
    }
    return true
  }

  /// In each of two separated parts of the circle, some member revokes the same device and keeps as much of that
  /// device's logs as the member has seen.
  func passVerdicts(on device: Device, near: [Int]) {
    for isNear in [true, false] {
      let side = devices.filter { $0.key != device.key && near.contains($0.number) == isNear }
      guard maySpare(device), let judge = random.pick(side), revoke(device, by: judge) else { continue }
      mark("revoked by one part", on: device)
    }
  }

  /// Whether a device may be revoked. Enough members must remain for convergence to mean something.
  func maySpare(_ device: Device) -> Bool {
    revocations < Self.revocationsMax
      && (isRevoked(device.key) || devices.count { $0.isHonest && !isRevoked($0.key) } > 2)
  }

  /// The maximum number of revocations in a run. An introduction might not have room for more, and then only a user
  /// could reconnect the members.
  private static let revocationsMax = 4

  /// Separates devices that know of a revocation from those that don't. The latter write sets that depend on the
  /// revoked device's sets and that reach the former only later. After that, a third device reverses the revocation.
  private func overturn(_ device: Device, _ other: Device) {
    let others = devices.filter { ![device.key, other.key].contains($0.key) }
    let near = others.filter { _ in random.happens(perThousand: 500) }.map(\.number)
    let time = someTime()
    divide(time) { $0.key == device.key || near.contains($0.number) }
    for part in 1...2 {
      later(time * Moment(part) / 3, .end(.words([other.number])))
      later(
        time * Moment(part) / 3 + 40, .end(.words(others.map(\.number).filter { !near.contains($0) })))
    }
    turnTide(device, other, after: time + Moment(random.logarithmic(5, 1_000)))
  }

  private func turnTide(_ device: Device, _ other: Device, after wait: Moment) {
    guard revocations < Self.revocationsMax else { return }
    // Reserve one of the allowed revocations for the reversal.
    revocations += 1
    later(wait, .end(.turnOfTide(device.number, other.number)))
  }

  /// Reverses a revocation: a third device uses the root key to revoke the revoker and reinstate the revoked device.
  func turnTide(_ device: Device, _ other: Device) {
    let able = devices.filter { ![device.key, other.key].contains($0.key) && $0.process?.isMember == true }
    guard let third = random.pick(able) else { return }
    revocations -= 1
    if revoke(device, by: third, reinstating: other.key) { mark("reinstated", on: device) }
  }

  /// Returns a duration that is short enough to begin and end while faults still occur.
  func someTime() -> Moment { 100 + options.faultsEvery * Moment(3 + random.below(8)) }

  private func revoke(_ other: Device, by device: Device, reinstating reinstated: DeviceKey? = nil) -> Bool {
    guard let process = device.process, process.isServing, process.isMember else { return false }
    let store = process.replicator.store
    let heads = Lane.allCases.flatMap { store.heads($0) }.filter { $0.log.device == other.key }
    // A revocation usually keeps everything that its issuer has seen, but sometimes a log ends earlier or is not kept
    // at all. A second revocation of a device is often severe, so that the two seldom agree.
    let isSevere = random.happens(perThousand: isRevoked(other.key) ? 700 : 300)
    let kept = Dictionary(grouping: heads, by: \.log).sorted { $0.key < $1.key }.compactMap { log, heads in
      let tips = isSevere ? heads.map { earlier($0, store) } : heads.map(\.id)
      return isSevere && random.happens(perThousand: 200)
        ? nil : KeptLog(incarnation: log.incarnation, lane: log.lane, tips: tips)
    }
    let key = reinstated != nil || random.happens(perThousand: 200) ? authority.root : device.keys.signing
    guard
      let statement = try? process.replicator.circle.revocation(
        RevocationTerms(device: other.key, kept: kept, reinstated: Set([reinstated].compactMap(\.self))),
        by: key, at: device.wall)
    else { return false }
    mark("revocations", on: other)
    revoked.insert(other.key)
    revocations += 1
    if random.happens(perThousand: 300), let third = random.pick(devices.filter { $0.key != device.key }) {
      _ = hearsay(third, someTime())
    }
    if random.happens(perThousand: 200) { turnTide(device, other, after: someTime() / 2) }
    learn(device, statement)
    return true
  }

  /// Returns a random ancestor of a head in the head's log, or the head itself.
  private func earlier(_ head: LogHead, _ store: Store) -> ChangeSetID {
    let sequence = 1 + UInt64(random.below(Int(clamping: head.sequence)))
    let want = Want(log: head.log, from: sequence, through: sequence, tip: head.id)
    let found = try? store.read(head.log.lane, [want], bytesMax: 1, setsMax: 1).sets.first
    return found?.id ?? head.id
  }

  func isRevoked(_ key: DeviceKey) -> Bool { revoked.contains(key) }

  func restamp(_ device: Device) -> Bool {
    guard let process = device.process, process.isServing, process.isMember, !process.replicator.isSpent
    else {
      return false
    }
    let store = process.replicator.store
    let horizon = Clock(milliseconds: device.wall + Limits.clockDriftMilliseconds)
    guard let ended = try? store.logsAhead(of: device.key, horizon: horizon), !ended.isEmpty else {
      return false
    }
    perhapsEndInside(device)
    do {
      try process.replicator.restamp(ended, now: device.time)
      mark("restamped", on: device)
      // If the process was killed right after the transaction, its store can't be read until the process restarts.
      if !process.isEnded { judged { try $0.wroteAgain(device) } }
    } catch {
      if process.isEnded { mark("killed inside a restamp", on: device) }
      guard !process.isEnded, !(error is ReauthoringError) else { return false }
      process.replicator.storeFailed(error)
    }
    return true
  }
}
