// Protocol/session.md, "Opening"

package import Membership
import Wire

extension Replica {
  /// Starts a session after a handshake. The initiator's introduction came with the handshake; the responder sends its
  /// own now.
  mutating func opened(
    _ link: LinkID, _ remote: TransportKey, _ introduction: [UInt8]?, _ now: Now,
    _ effects: inout [Effect]
  ) {
    let role = introduction == nil ? Session.Role.initiator(asksToReturn: !isMember) : .responder
    sessions[link] = Session(link: link, remote: remote, role: role, now: now)
    if let introduction { introduced(link, introduction, now, &effects) }
  }

  /// Returns the introduction of this device: the chain that ends with its certificate, and its entitlements; nil if
  /// this device is not a member.
  package func ownIntroduction(now: Moment) -> [UInt8]? {
    circle.introduction(of: device, wallMilliseconds: now)?.encoded
  }

  mutating func introduced(
    _ link: LinkID, _ bytes: [UInt8], _ now: Now, _ effects: inout [Effect]
  ) {
    guard let session = sessions[link] else { return }
    let peer: DeviceKey
    let clockSkew: Int64
    do {
      let introduction = try Introduction(bytes)
      let (member, changes) = try circle.admit(introduction, authenticated: session.remote)
      clockSkew = introduction.wallMilliseconds - now.wall
      learned(changes, from: link, now, &effects)
      // The statements in the introduction may have revoked this device.
      guard sessions[link]?.isClosing == false else { return }
      guard let member else { return drop(link, .revoked, &effects) }
      peer = member.device
    } catch AdmissionError.notAMember, AdmissionError.wrongCircle {
      return drop(link, .notAMember, &effects)
    } catch AdmissionError.revoked {
      return drop(link, .revoked, &effects)
    } catch {
      return drop(link, .misbehaved("an unreadable introduction"), &effects)
    }
    if !session.isInitiator {
      // This side introduces itself only after it has admitted the peer, so that a stranger learns nothing about this
      // side.
      guard let own = ownIntroduction(now: now.wall) else { return drop(link, .excluded, &effects) }
      effects.append(.send(link, .introduction(own)))
    }
    sessions[link]?.identify(peer, clockSkew: clockSkew)
    guard resolveDuplicates(link, peer, now, &effects) else { return }
    effects.append(.report(.peerJoined(peer, link)))
    judgeLanes(link, now, &effects)
    say(link, now, &effects)
    scheduleBeat(link, &effects)
    scheduleGate(now, &effects)
  }

  /// Closes one of two links to the same peer.
  ///
  /// If the two devices dialled each other at the same time, both keep the link that the device with the smaller key
  /// dialled. Otherwise the newer link stays, because the older one may be half open or belong to a copy of the device.
  /// At first only the side that was dialled makes this decision, because the two sides may disagree about which link is
  /// newer. Once they can't, both make it: the other end of the older link may be a copy that knows nothing of the newer
  /// one.
  ///
  /// - Returns: whether `link` stays.
  private mutating func resolveDuplicates(
    _ link: LinkID, _ peer: DeviceKey, _ now: Now, _ effects: inout [Effect]
  ) -> Bool {
    guard let new = sessions[link] else { return false }
    // The two sides see different ages, which differ by less than a handshake. In between, the side that was dialled
    // decides, so that the two never end both links.
    let isOldAfter =
      new.isInitiator ? Limits.handshakeMillisecondsMax : Limits.simultaneousMillisecondsMax
    for old in sessionsInOrder where old.device == peer && old.link != link && !old.isClosing {
      let age = now.steady - old.openedAtSteady
      if old.isInitiator == new.isInitiator || age >= isOldAfter {
        let isCertain = age >= Limits.simultaneousMillisecondsMax + Limits.handshakeMillisecondsMax
        if !new.isInitiator || isCertain { drop(old.link, .duplicate, &effects) }
      } else if new.isInitiator == (device < peer) {
        drop(old.link, .duplicate, &effects)
      } else {
        drop(link, .duplicate, &effects)
        return false
      }
    }
    return true
  }

  // MARK: Gate

  /// Returns the time by which entitlements are judged.
  package func gateTime(now: Moment) -> Moment {
    let time = circle.gateTime(
      wall: now, newestFolded: newestForeignClock == .zero ? nil : newestForeignClock.milliseconds)
    return max(time, gateFloor ?? time)
  }

  package func ownGate(now: Moment) -> Gate {
    circle.ownGate(
      device: device, preference: preference, local: localPremium, at: gateTime(now: now))
  }

  /// Judges both lanes of a session, and sends a summary if a lane has opened or closed. A lane that opens starts with
  /// fresh state; a lane that closes drops its state.
  mutating func judgeLanes(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    guard openAndClose([link], now, &effects) else { return }
    say(link, now, &effects)
    // Sets that were requested from this peer may now be requested from other peers.
    askAll(now, &effects)
  }

  /// Judges the lanes of all links before anything is requested on one of them: another lane may be about to close.
  ///
  /// - Returns: whether a lane has opened or closed.
  private mutating func openAndClose(
    _ links: [LinkID], _ now: Now, _ effects: inout [Effect]
  ) -> Bool {
    var changes: [(lane: Lane, link: LinkID, peer: DeviceKey, judged: LaneSession)] = []
    for link in links {
      guard let peer = sessions[link]?.device else { continue }
      for lane in Lane.allCases {
        let judged = judgement(of: lane, link, peer, now)
        guard sessions[link]?[lane].follow(judged) == true else { continue }
        self[lane].asked = self[lane].asked.filter { $0.value != link }
        changes.append((lane, link, peer, judged))
      }
    }
    let closed = changes.filter { $0.lane == .records && !$0.judged.isOpen }.map(\.link)
    if !closed.isEmpty { file(.closed(closed), now, &effects) }
    for (lane, link, peer, judged) in changes {
      if lane == .records, judged.isOpen { file(.opened(link, peer), now, &effects) }
      switch judged {
      case .open: effects.append(.report(.laneOpened(peer, lane)))
      case .closed(let reason?): effects.append(.report(.laneClosed(peer, lane, reason)))
      case .closed(nil): break
      }
    }
    return !changes.isEmpty
  }

  private func judgement(of lane: Lane, _ link: LinkID, _ peer: DeviceKey, _ now: Now) -> LaneSession {
    guard isMember else { return .closed(nil) }
    guard lane == .records else { return .open(OpenLane()) }
    if let reason = ownGate(now: now.wall).reason { return .closed(.mine(reason)) }
    guard let theirs = sessions[link]?.theirs else { return .closed(nil) }
    if let reason = peerReason(peer, now: now.wall) { return .closed(.peerNotPremium(reason)) }
    guard theirs.records.isOpen else { return .closed(.theirs(theirs.records.reason)) }
    return .open(OpenLane())
  }

  /// Returns the reason why a peer is not premium according to the statements held here, whatever the peer announces;
  /// nil if the peer is premium.
  func peerReason(_ peer: DeviceKey, now: Moment) -> GateReason? {
    circle.peerGate(device: peer, preference: true, at: gateTime(now: now)).premiumReason
  }

  /// Returns the reason that is announced to a peer for the records lane. The reason may be that the peer is not
  /// premium according to the statements held here, so that the lane is closed on both sides or on neither.
  func recordsReason(for peer: DeviceKey, now: Moment) -> ReasonCode {
    if let reason = ownGate(now: now).reason { return reason.code }
    return peerReason(peer, now: now) == nil ? .open : .peerNotPremium
  }

  /// Judges all gates again after the preference, an entitlement, the membership or the time has changed.
  mutating func gateMayHaveChanged(_ now: Now, _ effects: inout [Effect]) {
    let gate = ownGate(now: now.wall)
    if gate.reason != gateAnnounced {
      gateAnnounced = gate.reason
      effects.append(.report(.gateChanged))
    }
    let links = sessionsInOrder.filter { $0.device != nil && !$0.isClosing }.map(\.link)
    _ = openAndClose(links, now, &effects)
    for link in links {
      say(link, now, &effects)
      compareLanes(link, isFresh: false, now, &effects)
    }
    askAll(now, &effects)
    scheduleGate(now, &effects)
  }

  /// Judges the gates again if gate time has left the interval for which the last verdicts hold.
  ///
  /// Runs before every input is handled, because no timer fires when the wall clock is set, and no input may be handled
  /// according to an outdated verdict.
  mutating func updateTime(_ now: Now, _ effects: inout [Effect]) {
    let before = lastNow
    lastNow = now
    guard let holds = gatesHold, !holds.contains(gateTime(now: now.wall)) else { return }
    if let before, before.reaches(holds.upperBound, at: now), holds.upperBound > gateFloor ?? 0 {
      gateFloor = holds.upperBound
      effects.append(.keepGateFloor(holds.upperBound))
    }
    gateMayHaveChanged(now, &effects)
  }

  /// Arms a timer for the next moment at which our gate or that of a connected peer changes by itself.
  mutating func scheduleGate(_ now: Now, _ effects: inout [Effect]) {
    let time = gateTime(now: now.wall)
    var moments = [ownGate(now: now.wall).nextChange]
    for session in sessionsInOrder {
      guard let peer = session.device else { continue }
      moments.append(circle.peerGate(device: peer, preference: true, at: time).nextChange)
    }
    let next = moments.compactMap { $0 }.min()
    gatesHold = time..<max(next ?? .max, time)
    // Gate time may be ahead of the wall clock. It advances again once the wall clock has caught up.
    if let next { effects.append(.schedule(.gate, after: Self.wait(until: next, now))) }
  }

  /// Returns how long a timer waits for a moment on the wall clock. This is at most a minute, because the clock may be
  /// set in the meantime.
  static func wait(until moment: Moment, _ now: Now) -> Moment {
    min(max(moment, now.wall + 1), now.wall + 60_000) - now.wall
  }
}

extension Now {
  /// Whether the wall clock has passed a moment by running rather than by being set. Correcting a wrong clock must not
  /// raise the gate floor.
  fileprivate func reaches(_ moment: Moment, at later: Now) -> Bool {
    guard wall < moment, later.wall >= moment else { return false }
    let (passed, isFar) = later.wall.subtractingReportingOverflow(wall)
    return !isFar && passed - (later.steady - steady) <= Self.stepMillisecondsMax
  }

  /// How far the wall clock may gain on the steady clock and still count as running rather than as being set.
  private static let stepMillisecondsMax: Moment = 60_000
}
