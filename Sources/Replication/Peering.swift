// Protocol/session.md, "Connecting"

import Membership
package import Wire

/// Decides which devices to dial and when, which to admit and which to avoid. `Replica` decides what is exchanged once
/// a peer is connected.
///
/// An incoming link from a penalised device is held for a moment before it is introduced:
///
///     opened ──────────▶ introduced ──▶ joined ──▶ admitted ──▶ ended
///        └──▶ held ──────────┘             └──▶ closed: the device is paused
///
/// `Peering` is a value that does no I/O and reads no clock. The shell reports every event and carries out the effects
/// in order.
package struct Peering: Sendable {
  /// The reason why this device and a peer do not sync, according to their last session.
  package enum Refusal: Sendable {
    /// The person at the peer has paused this device.
    case paused
    /// The peer hung up without sending the requested sets.
    case unreadable
    /// The peer is revoked.
    case revoked
  }

  /// A connection, from its handshake to its end.
  private struct Link {
    /// The address that was dialled; nil for an incoming link.
    let dialled: String?
    /// The introduction to hand to the replica once a penalised peer has waited; nil if the link is not held.
    var held: (remote: TransportKey, introduction: [UInt8]?)?
  }

  /// Devices that the person has paused.
  package private(set) var paused: Set<DeviceKey>
  package private(set) var refusals: [DeviceKey: Refusal] = [:]
  private var dialing: Dialing
  private var links: [LinkID: Link] = [:]
  /// When the dial timer fires, on the steady clock.
  private var dialsAt: Moment?

  /// - Parameter seed: a seed for jitter only. Nodes need not use the same seed.
  package init(paused: Set<DeviceKey>, seed: UInt64) {
    self.paused = paused
    dialing = Dialing(seed: seed)
  }

  // MARK: Queries

  /// The known addresses with their dial state.
  package var addresses: [Dialing.Entry] { dialing.entries }

  package func isPaused(_ device: DeviceKey) -> Bool { paused.contains(device) }

  /// Whether a device is penalised for a recent protocol violation.
  package func isPenalised(_ device: DeviceKey, now: Now) -> Bool {
    dialing.isPenalised(device, now: now.steady)
  }

  /// Whether a beacon has announced an address since the node began to serve.
  package func isFound(_ address: String) -> Bool { dialing.isFound(address) }

  /// Whether messages from a link are dropped because its peer is paused. Sync makes up for them after the peer is
  /// resumed.
  package func ignores(_ link: LinkID, _ replica: Replica) -> Bool {
    guard let device = replica.sessions[link]?.device else { return false }
    return isPaused(device)
  }

  // MARK: Events

  /// Handles one event and appends the effects for the shell.
  ///
  /// - Parameter replica: the replica at the time of the event. For `ended`, the replica has not been told yet that the
  ///   link has ended.
  package mutating func handle(
    _ input: PeeringInput, _ replica: Replica, now: Now, into effects: inout [PeeringEffect]
  ) {
    switch input {
    case .addressGiven(let address): dialing.add(address, of: nil, now: now.steady)
    case .addressRemoved(let address): dialing.remove(address)
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
    // At most one link per device is held, so that reconnecting in a loop costs this node little.
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
    // A dialled device may have been paused before it was identified.
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
      // Messages that were queued while the peer was a member must not be sent any more.
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
        penalise(device, "violated the protocol; will not be dialled again for a while", now, &effects)
      case .hungUp where session.goodbye == nil && session.isOwed: refusals[device] = .unreadable
      case .hungUp, .lost: break
      }
      if session.goodbye == .paused { refusals[device] = .paused }
    }
    if let dialled = gone.dialled {
      if session?.device != nil {
        dialing.ended(dialled, now: now.steady)
      } else {
        // The peer hung up before it was identified, perhaps because another connection took the room of this one.
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

  /// Whether to dial at all. A revoked device dials, to find out whether it is still revoked. A device that was never
  /// admitted does not dial.
  private func mayDial(_ replica: Replica) -> Bool {
    let evaluation = replica.circle.evaluation
    return evaluation.isMember(replica.device) || evaluation.hasCertificate(replica.device)
  }

  /// - Parameter link: a link that has ended without the replica having been told yet.
  private mutating func scheduleDial(
    _ replica: Replica, without link: LinkID? = nil, _ now: Now, _ effects: inout [PeeringEffect]
  ) {
    guard mayDial(replica),
      let next = dialing.nextDue(connected: replica.connectedDevices(without: link), paused: paused)
    else { return }
    let moment = max(next, now.steady + 1)
    // An earlier timer is pending. When it fires, it schedules the next one.
    if let dialsAt, now.steady < dialsAt, dialsAt <= moment { return }
    dialsAt = moment
    effects.append(.schedule(.dial, after: moment - now.steady))
  }
}

/// An event about addresses, connections or the person's choices.
package enum PeeringInput: Sendable {
  /// The person gave an address, now or in an earlier run.
  case addressGiven(String)
  /// The person removed an address that the person had given.
  case addressRemoved(String)
  /// A beacon of a member announced an address.
  case addressFound(String, DeviceKey)
  /// The circle has changed, or the node begins to serve. `announced` holds all addresses that members announce.
  case circleChanged(announced: [DeviceKey: [String]])
  /// The person asked to connect now, so every waiting address is dialled.
  case hurried
  /// The person paused a peer, or resumed it.
  case paused(DeviceKey)
  case resumed(DeviceKey)
  /// An address could not be reached.
  case dialFailed(String, DialFailure)
  /// A device that wants to join has connected.
  case pairing(LinkID)
  /// A handshake is complete. `dialled` is the address that was dialled; it is nil for an incoming link. `introduction`
  /// is the one that the initiator sent with the handshake; it is nil on the initiator's side.
  case opened(LinkID, dialled: String?, remote: TransportKey, introduction: [UInt8]?)
  /// The shell has carried out `PeeringEffect.introduce`.
  case introduced(LinkID)
  /// The replica has reported that a peer has joined.
  case joined(LinkID, DeviceKey)
  /// The replica wants a link closed.
  case closing(LinkID, CloseCause)
  /// A link has ended. The replica is told next.
  case ended(LinkID, ConnectionEnd)
  case timer(PeeringTimer)
}

/// How a link ended.
package enum ConnectionEnd: Sendable {
  /// The peer violated the protocol.
  case brokeRules
  /// The peer closed the link properly.
  case hungUp
  case lost
}

/// An action for the shell. Effects are carried out in order.
package enum PeeringEffect: Sendable {
  /// Connect to an address; answer with `opened` or `dialFailed`.
  case dial(String)
  /// Hand a link to the replica; answer with `introduced`.
  case introduce(LinkID, remote: TransportKey, introduction: [UInt8]?)
  /// Start reading from an incoming link.
  case admit(LinkID)
  case send(LinkID, Message)
  /// Close the link after sending what is queued.
  case close(LinkID)
  /// Close the link without sending what is queued.
  case closeAtOnce(LinkID)
  /// Fire the timer after this many milliseconds. It replaces a pending timer with the same name.
  case schedule(PeeringTimer, after: Moment)
  case report(PeeringEvent)
}

/// The timers of peering. A stale timer that fires changes nothing.
package enum PeeringTimer: Hashable, Sendable {
  case dial
  /// It is time to introduce a held link.
  case introduce(LinkID)
}

/// An event about connections, for the log or for a person.
package enum PeeringEvent: Hashable, Sendable {
  /// A member violated the protocol and will not be dialled again for a while.
  case penalised(DeviceKey, why: String)
}

extension Replica {
  /// Returns the devices with an open session.
  ///
  /// - Parameter link: a link to leave out.
  package func connectedDevices(without link: LinkID? = nil) -> Set<DeviceKey> {
    Set(sessions.values.filter { !$0.isClosing && $0.link != link }.compactMap(\.device))
  }
}

extension Session {
  /// Whether the peer has yet to deliver change sets that were requested from it.
  fileprivate var isOwed: Bool { Lane.allCases.contains { !self[$0].asked.isEmpty } }
}
