import Engine
import Membership
import Replication
import Storage
import VirtualDisk
import Wire

/// The condition of the network.
struct Weather {
  /// The minimum travel time of a message, in milliseconds.
  var latency: Moment = 5
  /// The maximum random travel time in addition to the latency, in milliseconds; a few messages take longer.
  var jitter: Moment = 5
  /// The bandwidth of a link.
  var bytesPerMillisecond = 10_000
  /// The directions that are blocked, and the time until which each is blocked.
  var blocked: [Path: Moment] = [:]
  /// The share of dials, per thousand, that are refused although the device is listening.
  var refusals = 0

  struct Path: Hashable {
    let from: Int
    let to: Int
  }

  func blockedUntil(_ from: Int, _ to: Int, at now: Moment) -> Moment? {
    blocked[Path(from: from, to: to)].flatMap { $0 > now ? $0 : nil }
  }
}

extension World {
  // MARK: Dialling

  func dial(_ address: String, from device: Device) {
    later(2 * travel(), .dialled(address, device.number, device.generation))
  }

  private func travel() -> Moment {
    var time = weather.latency
    if weather.jitter > 0 {
      time += Moment(random.below(Int(weather.jitter) + 1))
      // A few messages take much longer, as if packets were lost and retransmitted.
      if random.happens(perThousand: 20) { time += weather.jitter * Moment(random.below(20)) }
    }
    return time
  }

  /// Completes a dial: connects the two devices, or reports to the dialling device why the dial failed.
  func dialled(_ address: String, _ number: Int, _ generation: Int) {
    let dialler = devices[number]
    guard dialler.generation == generation, let process = dialler.process else { return }
    guard process.pausedUntil == nil else { return later(100, .dialled(address, number, generation)) }
    guard let target = devices.first(where: { !$0.isGone && $0.isFound(at: address) }) else {
      return process.receive(.peering(.dialFailed(address, .noRoute)))
    }
    if weather.blockedUntil(number, target.number, at: now) != nil
      || weather.blockedUntil(target.number, number, at: now) != nil
    {
      return process.receive(.peering(.dialFailed(address, .timeout)))
    }
    guard let answering = target.process, answering.isServing, target !== dialler else {
      return process.receive(.peering(.dialFailed(address, .refused)))
    }
    if random.happens(perThousand: weather.refusals) {
      tally.count("refused")
      return process.receive(.peering(.dialFailed(address, .refused)))
    }
    let circle = process.replicator.circle
    guard circle.evaluation.member(transport: target.keys.transport) != nil,
      target.keys.transport != dialler.keys.transport,
      let introduction = circle.dialledIntroduction(of: dialler.key, wallMilliseconds: dialler.wall)?.encoded
    else { return process.receive(.peering(.dialFailed(address, .notAMember))) }
    connect(dialler, target, address, introduction)
  }

  private func connect(_ dialler: Device, _ target: Device, _ address: String, _ introduction: [UInt8]) {
    let link = Link(
      nextLink(), address, [dialler.number, target.number], [dialler.generation, target.generation], at: now)
    links[link.id] = link
    tally.count("connections")
    dialler.process?.links[link.id] = (link, 0)
    target.process?.links[link.id] = (link, 1)
    put(.opening(introduction), on: link, towards: 1)
    dialler.process?.receive(.opened(link.id, remote: target.keys.transport, introduction: nil))
    later(Self.pingMilliseconds, .look(link.id))
  }

  // MARK: Sending

  func send(_ message: [UInt8], on link: Link, from end: Int, as sendClass: SendClass) {
    guard link.isOpen[end], !link.hasHungUp[end], !link.hasHungUp[1 - end] else { return }
    let (sender, receiver) = (devices[link.devices[end]], devices[link.devices[1 - end]])
    for message in meddled(message, from: sender, to: receiver) {
      note(bytes: message)
      tally.count("messages")
      tally.count("bytes", by: message.count)
      if sendClass == .file { tally.count("parts of files sent") }
      judged { try $0.sent(message, from: sender, to: receiver, on: link) }
      put(.message(message), on: link, towards: 1 - end, as: sendClass)
    }
    let waiting = link.towards[1 - end].bytes
    if sender.isHonest, receiver.isHonest {
      // Flow control must keep an honest sender far below the limit at which a link is closed.
      judged {
        try $0.judge.measured(
          sender.name, "the number of bytes in flight on a link", waiting, max: Limits.sendBufferBytesMax / 2)
      }
    }
    if waiting > Limits.sendBufferBytesMax { breakLink(link) }
  }

  func put(_ item: Link.Item, on link: Link, towards end: Int, as sendClass: SendClass = .ordinary) {
    let bytes = item.bytes
    let at = link.towards[end].put(
      item, sendClass, bytes: bytes, earliest: now + travel(),
      duration: Moment(bytes / weather.bytesPerMillisecond))
    later(at - now, .arrive(link.id, end))
  }

  func arrive(_ id: LinkID, _ end: Int) {
    guard let link = links[id], link.isOpen[end], let first = link.towards[end].items.first,
      first.at <= now
    else { return }
    let (from, to) = (link.devices[1 - end], link.devices[end])
    if let until = weather.blockedUntil(from, to, at: now) {
      // The message is retransmitted until it gets through or one end gives up.
      tally.count("held back")
      return later(until - now + 1, .arrive(id, end))
    }
    guard let process = process(of: link, end), process.pausedUntil == nil else {
      return later(50, .arrive(id, end))
    }
    let item = link.towards[end].takeFirst()
    link.lastHeard[end] = now
    take(item, link, end, process)
  }

  func process(of link: Link, _ end: Int) -> Process? {
    let device = devices[link.devices[end]]
    return device.generation == link.generations[end] ? device.process : nil
  }

  private func take(_ item: Link.Item, _ link: Link, _ end: Int, _ process: Process) {
    switch item {
    case .opening(let introduction):
      let remote = devices[link.devices[1 - end]].keys.transport
      process.receive(.opened(link.id, remote: remote, introduction: introduction))
    case .message(let bytes):
      drain(link, end)
      guard bytes.count <= Limits.messageBytesMax, let message = try? Message(decoding: bytes) else {
        link.brokeRules[end] = true
        tally.count("invalid message")
        return closeEnd(link, end, hangsUp: true)
      }
      process.receive(.message(link, message, bytes))
    case .end: closeEnd(link, end, hangsUp: false)
    }
  }

  /// Tells the sender when a congested link has room again.
  private func drain(_ link: Link, _ end: Int) {
    guard link.towards[end].drained() else { return }
    process(of: link, 1 - end)?.receive(.input(.drained(link.id)))
  }

  // MARK: Ends

  /// Closes a device's end of a link, after everything already queued has been sent.
  func hangUp(_ id: LinkID, _ device: Device) {
    guard let link = links[id], let end = link.devices.firstIndex(of: device.number) else { return }
    closeEnd(link, end, hangsUp: true)
  }

  func closeEnd(_ link: Link, _ end: Int, hangsUp: Bool) {
    guard link.isOpen[end], !link.hasHungUp[end] else { return }
    link.hasHungUp[end] = true
    process(of: link, end)?.receive(.input(.closed(link.id)))
    if hangsUp, link.isOpen[1 - end] { put(.end, on: link, towards: 1 - end) }
    link.isOpen[end] = false
    forget(link)
  }

  /// Cuts a link. Both ends notice, and everything in flight is lost.
  func breakLink(_ link: Link) {
    tally.count("cut")
    for end in [0, 1] where link.isOpen[end] {
      link.isOpen[end] = false
      process(of: link, end)?.receive(.input(.closed(link.id)))
    }
    forget(link)
  }

  private func forget(_ link: Link) {
    if !link.isOpen[0], !link.isOpen[1] { links[link.id] = nil }
  }

  /// Drops the links of a process that has ended. Normally the process's machine closes them. With `isSilent`, the
  /// machine is off too, so the other ends have to time out.
  func abandonLinks(of process: Process, isSilent: Bool) {
    for (id, end) in process.links.mapValues(\.end).sorted(by: { $0.key < $1.key }) {
      guard let link = links[id] else { continue }
      link.isOpen[end] = false
      if !isSilent, link.isOpen[1 - end] { put(.end, on: link, towards: 1 - end) }
      forget(link)
    }
  }

  /// Simulates the pings of both ends: an end that has received nothing for too long closes the link.
  func look(_ id: LinkID) {
    guard let link = links[id] else { return }
    for end in [0, 1] {
      let isReached = weather.blockedUntil(link.devices[1 - end], link.devices[end], at: now) == nil
      if isReached, link.isOpen[1 - end], process(of: link, 1 - end)?.isServing == true {
        link.lastHeard[end] = now
      }
    }
    for end in [0, 1] where link.isOpen[end] && now - link.lastHeard[end] > Limits.idleMillisecondsMax {
      tally.count("half-open")
      closeEnd(link, end, hangsUp: true)
    }
    if links[id] != nil { later(Self.pingMilliseconds, .look(id)) }
  }

  private func nextLink() -> LinkID {
    linkCount += 1
    return LinkID(linkCount)
  }

  private static let pingMilliseconds: Moment = 20_000
}
