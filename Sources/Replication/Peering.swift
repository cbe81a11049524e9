// Protocol/session.md, "Connecting"

import Membership
package import Wire

/// Whom to dial and when, whom to admit, and whom to leave alone: a value next to `Replica`, which decides what is said
/// once a peer is connected.
///
/// An incoming link of a penalised device is held for a moment before it is introduced:
///
///     opened ──────────▶ introduced ──▶ joined ──▶ admitted ──▶ ended
///        └──▶ held ──────────┘             └──▶ closed: the device is paused
///
/// It does no I/O and reads no clock. The shell reports every event, and carries out the effects in order.
package struct Peering: Sendable {
  /// Why a peer and this device do not talk, as far as one of them has shown it.
  package enum Refusal: Sendable {
    /// The person at the peer has paused this device.
    case paused
    /// The peer could not send what it was asked for, and hung up.
    case unreadable
    /// The peer is revoked.
    case revoked
  }

  /// A connection, from its handshake to its end.
  private struct Link {
    /// The address that was dialled; nil for an incoming one.
    let dialled: String?
    /// What is handed to the replica once a penalised peer has waited.
    var held: (remote: TransportKey, introduction: [UInt8]?)?
  }

  /// Devices that the person does not want to talk to for now.
  package private(set) var paused: Set<DeviceKey>
  package private(set) var refusals: [DeviceKey: Refusal] = [:]
  private var dialing: Dialing
  private var links: [LinkID: Link] = [:]
  /// When the dial timer comes back, on the steady clock.
  private var dialsAt: Moment?

  /// - Parameter seed: decides jitter; nothing that two nodes must agree on.
  package init(paused: Set<DeviceKey>, seed: UInt64) {
    self.paused = paused
    dialing = Dialing(seed: seed)
  }

  // MARK: Queries

  /// The addresses that are known, with what came of dialling them.
  package var addresses: [Dialing.Entry] { dialing.entries }

  package func isPaused(_ device: DeviceKey) -> Bool { paused.contains(device) }

  /// Whether messages of a device were refused of late.
  package func isPenalised(_ device: DeviceKey, now: Now) -> Bool {
    dialing.isPenalised(device, now: now.steady)
  }

  /// Whether a beacon has named an address since the node began to serve.
  package func isFound(_ address: String) -> Bool { dialing.isFound(address) }

  /// Whether messages of a link are left out: what a peer still had under way when it was paused waits for its return.
  package func ignores(_ link: LinkID, _ replica: Replica) -> Bool {
    replica.sessions[link]?.device.map(isPaused) ?? false
  }

  // MARK: Events

  /// Records one event and says what must be done about it.
  ///
  /// - Parameter replica: as it is when the event happens; for `ended` before it knows of the end.
  package mutating func handle(
    _ input: PeeringInput, _ replica: Replica, now: Now, into effects: inout [PeeringEffect]
  ) {
    switch input {
    case .addressGiven(let address): dialing.add(address, of: nil, now: now.steady)
    case .addressFound(let address, let device): found(address, device, replica, now, &effects)
    case .circleChanged(let announced): circleChanged(announced, replica, now, &effects)
    case .hurried: hurry(replica, now, &effects)
    case .paused(let device): pause(device, replica, &effects)
    case .resumed(let device):
      paused.remove(device)
      hurry(replica, now, &effects)
    case .dialFailed(let address, let failure):
      dialing.failed(address, failure, now: now.steady)
      scheduleDial(replica, now, &effects)
    case .pairing(let link): links[link] = Link(dialled: nil)
    case .opened(let link, let dialled, let remote, let introduction):
      opened(link, dialled, remote, introduction, replica, now, &effects)
    case .joined(let link, let device): joined(link, device, now, &effects)
    case .introduced(let link):
      if let device = replica.sessions[link]?.device, !isPaused(device) { effects.append(.admit(link)) }
    case .closing(let link, let cause): closing(link, cause, replica, now, &effects)
    case .ended(let link, let end): ended(link, end, replica, now, &effects)
    case .timer(.dial):
      dialsAt = nil
      dial(replica, now, &effects)
    case .timer(.introduce(let link)): introduceHeld(link, &effects)
    }
  }

  // MARK: Links

  private mutating func opened(
    _ link: LinkID, _ dialled: String?, _ remote: TransportKey, _ introduction: [UInt8]?,
    _ replica: Replica, _ now: Now, _ effects: inout [PeeringEffect]
  ) {
    links[link] = Link(dialled: dialled)
    let device = replica.circle.evaluation.member(transport: remote)?.device
    guard dialled == nil, let device, isPenalised(device, now: now) else {
      return effects.append(.introduce(link, remote: remote, introduction: introduction))
    }
    // One at a time: what it can do to this node by coming back again and again has a limit.
    for (other, held) in links.sorted(by: { $0.key < $1.key }) where held.held?.remote == remote {
      links[other]?.held = nil
      effects.append(.close(other))
    }
    links[link]?.held = (remote, introduction)
    effects.append(.schedule(.introduce(link), after: Limits.penalisedMilliseconds))
  }

  private mutating func introduceHeld(_ link: LinkID, _ effects: inout [PeeringEffect]) {
    guard let held = links[link]?.held else { return }
    links[link]?.held = nil
    effects.append(.introduce(link, remote: held.remote, introduction: held.introduction))
  }

  private mutating func joined(
    _ link: LinkID, _ device: DeviceKey, _ now: Now, _ effects: inout [PeeringEffect]
  ) {
    refusals[device] = nil
    if let dialled = links[link]?.dialled { dialing.succeeded(dialled, device, now: now.steady) }
    // A device that was dialled may have been paused before it showed who it is.
    if isPaused(device) { hangUp(link, &effects) }
  }

  private mutating func closing(
    _ link: LinkID, _ cause: CloseCause, _ replica: Replica, _ now: Now, _ effects: inout [PeeringEffect]
  ) {
    let device = replica.sessions[link]?.device
    switch cause {
    case .misbehaved(let what):
      if let device { penalise(device, what, now, &effects) }
    case .revoked:
      if let device { refusals[device] = .revoked }
      // It gets no more of what was meant for it while it was a member.
      return effects.append(.closeAtOnce(link))
    case .notAMember, .excluded, .duplicate, .shuttingDown: break
    }
    effects.append(.close(link))
  }

  private mutating func ended(
    _ link: LinkID, _ end: ConnectionEnd, _ replica: Replica, _ now: Now, _ effects: inout [PeeringEffect]
  ) {
    guard let gone = links.removeValue(forKey: link) else { return }
    let session = replica.sessions[link]
    if let device = session?.device, let session {
      switch end {
      case .brokeRules:
        penalise(device, "it sent what no correct node sends; it is left alone for a while", now, &effects)
      case .hungUp where session.goodbye == nil && session.isOwed: refusals[device] = .unreadable
      case .hungUp, .lost: break
      }
      if session.goodbye == .paused { refusals[device] = .paused }
    }
    if let dialled = gone.dialled {
      if session?.device != nil {
        dialing.ended(dialled, now: now.steady)
      } else {
        // It hung up on the introduction, so asking again at once is no use.
        dialing.failed(dialled, .turnedAway, now: now.steady)
      }
    }
    scheduleDial(replica, without: link, now, &effects)
  }

  private mutating func penalise(
    _ device: DeviceKey, _ what: String, _ now: Now, _ effects: inout [PeeringEffect]
  ) {
    dialing.penalise(device, now: now.steady)
    effects.append(.report(.penalised(device, why: what)))
  }

  private func hangUp(_ link: LinkID, _ effects: inout [PeeringEffect]) {
    effects.append(.send(link, .goodbye(.paused)))
    effects.append(.close(link))
  }

  private mutating func pause(_ device: DeviceKey, _ replica: Replica, _ effects: inout [PeeringEffect]) {
    paused.insert(device)
    for session in replica.sessionsInOrder where session.device == device { hangUp(session.link, &effects) }
  }

  // MARK: Dialling

  private mutating func found(
    _ address: String, _ device: DeviceKey, _ replica: Replica, _ now: Now,
    _ effects: inout [PeeringEffect]
  ) {
    guard !isPaused(device) else { return }
    dialing.found(address, of: device, now: now.steady)
    dial(replica, now, &effects)
  }

  private mutating func circleChanged(
    _ announced: [DeviceKey: [String]], _ replica: Replica, _ now: Now, _ effects: inout [PeeringEffect]
  ) {
    let evaluation = replica.circle.evaluation
    dialing.forget { !evaluation.isMember($0) }
    dialing.update(isRevoked: !evaluation.isMember(replica.device), now: now.steady)
    dialing.announced(announced, now: now.steady)
    scheduleDial(replica, now, &effects)
  }

  private mutating func hurry(_ replica: Replica, _ now: Now, _ effects: inout [PeeringEffect]) {
    dialing.hurry(now: now.steady)
    dial(replica, now, &effects)
  }

  private mutating func dial(_ replica: Replica, _ now: Now, _ effects: inout [PeeringEffect]) {
    guard mayDial(replica) else { return }
    let due = dialing.due(now: now.steady, connected: replica.connectedDevices(), paused: paused)
    let room = max(Limits.connectionsMax - links.count, 0)
    effects += due.prefix(room).map { .dial($0) }
    for address in due.dropFirst(room) { dialing.failed(address, .other, now: now.steady) }
    scheduleDial(replica, now, &effects)
  }

  /// A device that is out of the circle dials too, to ask whether it still is; but not one that waits to be admitted.
  private func mayDial(_ replica: Replica) -> Bool {
    let evaluation = replica.circle.evaluation
    return evaluation.isMember(replica.device) || evaluation.hasCertificate(replica.device)
  }

  /// - Parameter link: has ended, and the replica does not know yet.
  private mutating func scheduleDial(
    _ replica: Replica, without link: LinkID? = nil, _ now: Now, _ effects: inout [PeeringEffect]
  ) {
    guard mayDial(replica),
      let next = dialing.nextDue(connected: replica.connectedDevices(without: link), paused: paused)
    else { return }
    let moment = max(next, now.steady + 1)
    // A timer that comes earlier looks again.
    if let dialsAt, now.steady < dialsAt, dialsAt <= moment { return }
    dialsAt = moment
    effects.append(.schedule(.dial, after: moment - now.steady))
  }
}

/// What happened to addresses, connections and the person's choices.
package enum PeeringInput: Sendable {
  /// A person gave an address, now or in an earlier run.
  case addressGiven(String)
  /// A beacon of a member named an address.
  case addressFound(String, DeviceKey)
  /// The circle has changed, or the node begins to serve; with all the addresses that its members announce.
  case circleChanged(announced: [DeviceKey: [String]])
  /// A person asks for it: every address is dialled that waits.
  case hurried
  /// A person pauses a peer, or resumes it.
  case paused(DeviceKey)
  case resumed(DeviceKey)
  /// An address could not be reached.
  case dialFailed(String, DialFailure)
  /// A device that wants to join has connected.
  case pairing(LinkID)
  /// A handshake is done. `dialled` is the address, nil for an incoming link; `introduction` is what the initiator sent
  /// with it, nil at the initiator.
  case opened(LinkID, dialled: String?, remote: TransportKey, introduction: [UInt8]?)
  /// The shell has carried out `PeeringEffect.introduce`.
  case introduced(LinkID)
  /// The replica has reported that a peer has joined.
  case joined(LinkID, DeviceKey)
  /// The replica wants a link closed.
  case closing(LinkID, CloseCause)
  /// A link is gone; the replica is told next.
  case ended(LinkID, ConnectionEnd)
  case timer(PeeringTimer)
}

/// How a link ended.
package enum ConnectionEnd: Sendable {
  /// The peer sent what no correct node sends.
  case brokeRules
  /// The peer closed it in good order.
  case hungUp
  case lost
}

/// What the shell must do about connections. Effects are carried out in order.
package enum PeeringEffect: Sendable {
  /// Connect to an address, and answer with `opened` or `dialFailed`.
  case dial(String)
  /// Hand the replica a link, and answer with `introduced`.
  case introduce(LinkID, remote: TransportKey, introduction: [UInt8]?)
  /// Read from now on what an incoming link brings.
  case admit(LinkID)
  case send(LinkID, Message)
  /// Close after sending what is queued.
  case close(LinkID)
  /// Close without sending what is queued.
  case closeAtOnce(LinkID)
  /// Bring the timer back after so many milliseconds; a newer one of the same name replaces it.
  case schedule(PeeringTimer, after: Moment)
  case report(PeeringEvent)
}

/// Names what is due; a stale one changes nothing.
package enum PeeringTimer: Hashable, Sendable {
  case dial
  /// A held link is introduced.
  case introduce(LinkID)
}

/// What a person or a log may want to know of connections.
package enum PeeringEvent: Hashable, Sendable {
  /// A member sent what no correct node sends, and is left alone for a while.
  case penalised(DeviceKey, why: String)
}

extension Replica {
  /// The devices that there is a session with.
  ///
  /// - Parameter link: does not count.
  package func connectedDevices(without link: LinkID? = nil) -> Set<DeviceKey> {
    Set(sessions.values.filter { !$0.isClosing && $0.link != link }.compactMap(\.device))
  }
}

extension Session {
  /// Whether the peer was asked for change sets that it has not sent.
  fileprivate var isOwed: Bool { Lane.allCases.contains { !self[$0].asked.isEmpty } }
}
