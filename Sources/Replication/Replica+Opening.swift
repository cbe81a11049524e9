// Protocol/session.md, "Opening"

package import Membership
import Wire

extension Replica {
  /// A handshake is done: the initiator has shown who it is, the responder says so now.
  mutating func opened(
    _ link: LinkID, _ remote: TransportKey, _ introduction: [UInt8]?, _ now: Moment,
    _ effects: inout [Effect]
  ) {
    let isInitiator = introduction == nil
    sessions[link] = Session(link: link, remote: remote, isInitiator: isInitiator, now: now)
    guard let introduction else { return }
    guard let own = ownIntroduction(now: now) else { return drop(link, .notAMember, &effects) }
    effects.append(.send(link, .introduction(own)))
    introduced(link, introduction, now, &effects)
  }

  /// What this side shows of itself: its certificate with the chain, and its entitlements.
  package func ownIntroduction(now: Moment) -> [UInt8]? {
    circle.introduction(of: device, wallMilliseconds: now)?.encoded
  }

  mutating func introduced(
    _ link: LinkID, _ bytes: [UInt8], _ now: Moment, _ effects: inout [Effect]
  ) {
    guard let session = sessions[link] else { return }
    let peer: Member
    do {
      let introduction = try Introduction(bytes)
      let (member, changes) = try circle.admit(introduction, authenticated: session.remote)
      sessions[link]?.clockSkew = introduction.wallMilliseconds - now
      learned(changes, from: link, now, &effects)
      peer = member
    } catch AdmissionError.notAMember, AdmissionError.wrongCircle {
      return drop(link, .notAMember, &effects)
    } catch AdmissionError.revoked {
      return drop(link, .revoked, &effects)
    } catch {
      return drop(link, .misbehaved("an unreadable introduction"), &effects)
    }
    sessions[link]?.device = peer.device
    guard resolveDuplicate(link, peer.device, &effects) else { return }
    effects.append(.report(.peerJoined(peer.device, link)))
    judgeLanes(link, now, &effects)
    say(link, now, &effects)
    scheduleBeat(link, now, &effects)
  }

  /// Two devices may dial each other at the same moment. Both keep the link that the smaller key dialled; of
  /// two links of one direction the newer, because the older may be half open.
  private mutating func resolveDuplicate(
    _ link: LinkID, _ peer: DeviceKey, _ effects: inout [Effect]
  ) -> Bool {
    guard let new = sessions[link],
      let old = sessionsInOrder.first(where: { $0.device == peer && $0.link != link && !$0.isClosing })
    else { return true }
    let keepsNew =
      new.isInitiator == old.isInitiator || new.isInitiator == (device < peer)
    drop(keepsNew ? old.link : link, .duplicate, &effects)
    return keepsNew
  }

  // MARK: Gate

  /// The moment by which entitlements are judged.
  package func gateTime(now: Moment) -> Moment {
    circle.gateTime(
      wall: now,
      newestFolded: newestForeignClock == .zero ? nil : newestForeignClock.milliseconds)
  }

  package func ownGate(now: Moment) -> Gate {
    circle.ownGate(
      device: device, preference: preference, local: localPremium, at: gateTime(now: now))
  }

  /// Judges both lanes of a session; one that opens starts afresh, one that closes forgets what was under way.
  mutating func judgeLanes(_ link: LinkID, _ now: Moment, _ effects: inout [Effect]) {
    guard let peer = sessions[link]?.device else { return }
    for lane in Lane.allCases {
      let (isOpen, reason) = judgement(of: lane, link, peer, now)
      sessions[link]?[lane].reason = reason
      guard let was = sessions[link]?[lane].isOpen, was != isOpen else { continue }
      sessions[link]?[lane] = LaneSession()
      sessions[link]?[lane].isOpen = isOpen
      sessions[link]?[lane].reason = reason
      self[lane].asked = self[lane].asked.filter { $0.value != link }
      if isOpen {
        effects.append(.report(.laneOpened(peer, lane)))
      } else if let reason {
        effects.append(.report(.laneClosed(peer, lane, reason)))
      }
    }
  }

  private func judgement(
    of lane: Lane, _ link: LinkID, _ peer: DeviceKey, _ now: Moment
  ) -> (isOpen: Bool, reason: LaneReason?) {
    guard lane == .records else { return (true, nil) }
    if let reason = ownGate(now: now).reason { return (false, .mine(reason)) }
    guard let theirs = sessions[link]?.theirs else { return (false, nil) }
    guard theirs.records.isOpen else { return (false, .theirs(theirs.records.reason)) }
    let gate = circle.peerGate(device: peer, preference: true, at: gateTime(now: now))
    if let reason = gate.premiumReason { return (false, .peerNotPremium(reason)) }
    return (true, nil)
  }

  /// Something changed that the gate depends on: the preference, an entitlement, the time.
  mutating func gateMayHaveChanged(_ now: Moment, _ effects: inout [Effect]) {
    let gate = ownGate(now: now)
    if gate.reason != gateAnnounced {
      gateAnnounced = gate.reason
      effects.append(.report(.gateChanged))
    }
    for session in sessionsInOrder where session.device != nil && !session.isClosing {
      judgeLanes(session.link, now, &effects)
      say(session.link, now, &effects)
      compare(session.link, now, &effects)
    }
    scheduleGate(now, &effects)
  }

  /// Arms a timer for the very moment at which this gate or a connected peer's changes by itself.
  package func scheduleGate(_ now: Moment, _ effects: inout [Effect]) {
    let time = gateTime(now: now)
    var moments = [ownGate(now: now).nextChange]
    for session in sessionsInOrder {
      guard let peer = session.device else { continue }
      moments.append(circle.peerGate(device: peer, preference: true, at: time).nextChange)
    }
    guard let next = moments.compactMap({ $0 }).min() else { return }
    effects.append(.schedule(.gate, at: now + max(next - time, 0)))
  }
}
