// Protocol/session.md, "Opening"

package import Membership
import Wire

extension Replica {
  /// A handshake is done: the initiator has shown who it is, the responder says so now.
  mutating func opened(
    _ link: LinkID, _ remote: TransportKey, _ introduction: [UInt8]?, _ now: Now,
    _ effects: inout [Effect]
  ) {
    let role = introduction == nil ? Session.Role.initiator(asksToReturn: !isMember) : .responder
    sessions[link] = Session(link: link, remote: remote, role: role, now: now.wall)
    if let introduction { introduced(link, introduction, now, &effects) }
  }

  /// What this side shows of itself: its certificate with the chain, and its entitlements.
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
      // What came with it may have taken this device out of the circle.
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
      // Only now: a stranger learns nothing of this side.
      guard let own = ownIntroduction(now: now.wall) else { return drop(link, .excluded, &effects) }
      effects.append(.send(link, .introduction(own)))
    }
    sessions[link]?.identify(peer, clockSkew: clockSkew)
    guard resolveDuplicates(link, peer, &effects) else { return }
    effects.append(.report(.peerJoined(peer, link)))
    judgeLanes(link, now, &effects)
    say(link, now, &effects)
    scheduleBeat(link, &effects)
    scheduleGate(now, &effects)
  }

  /// Two devices may dial each other at the same moment. Both keep the link that the smaller key dialled.
  ///
  /// Of two links that one device dialled the newer stays, because the older may be half open. The side that
  /// was dialled decides that alone: each side may have seen the other one open last.
  private mutating func resolveDuplicates(
    _ link: LinkID, _ peer: DeviceKey, _ effects: inout [Effect]
  ) -> Bool {
    guard let new = sessions[link] else { return false }
    for old in sessionsInOrder where old.device == peer && old.link != link && !old.isClosing {
      if old.isInitiator == new.isInitiator {
        if !new.isInitiator { drop(old.link, .duplicate, &effects) }
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

  /// The moment by which entitlements are judged.
  package func gateTime(now: Moment) -> Moment {
    let time = circle.gateTime(
      wall: now, newestFolded: newestForeignClock == .zero ? nil : newestForeignClock.milliseconds)
    return max(time, gateFloor ?? time)
  }

  package func ownGate(now: Moment) -> Gate {
    circle.ownGate(
      device: device, preference: preference, local: localPremium, at: gateTime(now: now))
  }

  /// Judges both lanes of a session and says what changed; one that opens starts afresh, one that closes
  /// forgets what was under way.
  mutating func judgeLanes(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    guard openAndClose(link, now, &effects) else { return }
    say(link, now, &effects)
    // What this peer was asked for goes to others.
    askAll(now, &effects)
  }

  /// - Returns: whether a lane has opened or closed.
  private mutating func openAndClose(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) -> Bool {
    guard let peer = sessions[link]?.device else { return false }
    var hasChanged = false
    for lane in Lane.allCases {
      let judged = judgement(of: lane, link, peer, now)
      guard sessions[link]?[lane].follow(judged) == true else { continue }
      hasChanged = true
      self[lane].asked = self[lane].asked.filter { $0.value != link }
      switch judged {
      case .open: effects.append(.report(.laneOpened(peer, lane)))
      case .closed(let reason?): effects.append(.report(.laneClosed(peer, lane, reason)))
      case .closed(nil): break
      }
    }
    return hasChanged
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

  /// Why a peer is not premium by the certificates held, whatever it announces; nil if it is.
  func peerReason(_ peer: DeviceKey, now: Moment) -> GateReason? {
    circle.peerGate(device: peer, preference: true, at: gateTime(now: now)).premiumReason
  }

  /// What a peer is told of the records lane. It hears that its certificates are not enough, so that the lane
  /// is closed on both sides or on none.
  func recordsReason(for peer: DeviceKey, now: Moment) -> ReasonCode {
    if let reason = ownGate(now: now).reason { return reason.code }
    return peerReason(peer, now: now) == nil ? .open : .peerNotPremium
  }

  /// Something changed that the gate depends on: the preference, an entitlement, the time.
  mutating func gateMayHaveChanged(_ now: Now, _ effects: inout [Effect]) {
    let gate = ownGate(now: now.wall)
    if gate.reason != gateAnnounced {
      gateAnnounced = gate.reason
      effects.append(.report(.gateChanged))
    }
    let links = sessionsInOrder.filter { $0.device != nil && !$0.isClosing }.map(\.link)
    // All before any: else what one peer was asked for goes to another whose lane is about to close.
    for link in links { _ = openAndClose(link, now, &effects) }
    for link in links {
      say(link, now, &effects)
      compareLanes(link, isFresh: false, now, &effects)
    }
    askAll(now, &effects)
    scheduleGate(now, &effects)
  }

  /// Judges the gates anew if another answer may be right by now. The wall clock may have been put ahead or set back,
  /// for which no timer waits: so this comes before everything else, and nothing goes by an answer of yesterday.
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

  /// Arms a timer for the very moment at which this gate or a connected peer's changes by itself.
  mutating func scheduleGate(_ now: Now, _ effects: inout [Effect]) {
    let time = gateTime(now: now.wall)
    var moments = [ownGate(now: now.wall).nextChange]
    for session in sessionsInOrder {
      guard let peer = session.device else { continue }
      moments.append(circle.peerGate(device: peer, preference: true, at: time).nextChange)
    }
    let next = moments.compactMap { $0 }.min()
    gatesHold = time..<max(next ?? .max, time)
    // Gate time may be ahead of the wall clock; it moves on by itself when the wall clock has come up.
    if let next { effects.append(.schedule(.gate, after: Self.wait(until: next, now))) }
  }

  /// How long a timer waits for a moment on the wall clock, which may be set meanwhile: long waits come in parts.
  static func wait(until moment: Moment, _ now: Now) -> Moment {
    min(max(moment, now.wall + 1), now.wall + 60_000) - now.wall
  }
}

extension Now {
  /// Whether the wall clock has passed a moment since then by running, and not because it was set: a clock that was
  /// wrong and is put right must not leave anything behind.
  fileprivate func reaches(_ moment: Moment, at later: Now) -> Bool {
    guard wall < moment, later.wall >= moment else { return false }
    let (passed, isFar) = later.wall.subtractingReportingOverflow(wall)
    return !isFar && passed - (later.steady - steady) <= Self.stepMillisecondsMax
  }

  /// By how much a clock may be corrected while it runs.
  private static let stepMillisecondsMax: Moment = 60_000
}
