import Membership
import Replication
import Wire

/// Alice and Bob, the link between them, and the links that Mallory has to both.
struct Stage {
  let hosts: [Host]
  private(set) var now = Cast.noon
  /// The hosts at the ends of each link: both, or one and Mallory.
  private var links: [LinkID: Set<Int>] = [:]
  private var linkCount: UInt64 = 0
  /// Messages in flight between the hosts.
  private var traffic: [(link: LinkID, to: Int, what: Host.Sent)] = []
  /// The latest messages that Mallory received.
  private(set) var heard: [Message] = []

  init(malloryIsAdmin: Bool) throws {
    let statements = [
      Cast.certificate(Cast.bob, Cast.bobTransport, "bob", .admin),
      Cast.certificate(Cast.mallory, Cast.malloryTransport, "mallory", malloryIsAdmin ? .admin : .member),
      Cast.entitlement,
    ]
    hosts = [
      try Host("alice", Cast.alice, Cast.aliceTransport, knowing: statements),
      try Host("bob", Cast.bob, Cast.bobTransport, knowing: statements),
    ]
    for host in hosts { try host.handle(.started, now: now) }
  }

  // MARK: Links

  /// Alice dials Bob, unless they are connected or one would not admit the other.
  mutating func connectHosts() throws {
    guard !links.values.contains(where: { $0.count == 2 }) else { return }
    guard hosts[0].circle.evaluation.member(transport: hosts[1].transport) != nil,
      let introduction = hosts[0].replica.ownIntroduction(now: now)
    else { return }
    let link = nextLink()
    links[link] = [0, 1]
    try hosts[1].handle(.opened(link, remote: hosts[0].transport, introduction: introduction), now: now)
    try hosts[0].handle(.opened(link, remote: hosts[1].transport, introduction: nil), now: now)
    try collect()
  }

  mutating func cutHosts() throws {
    for (link, ends) in links.sorted(by: { $0.key < $1.key }) where ends.count == 2 {
      links[link] = nil
      traffic = []
      for host in hosts { try host.handle(.closed(link), now: now) }
    }
    try collect()
  }

  mutating func connectMallory(to host: Int, introduction: [UInt8]?) throws -> LinkID {
    let link = nextLink()
    links[link] = [host]
    try hosts[host].handle(
      .opened(link, remote: Cast.transport(Cast.malloryTransport), introduction: introduction), now: now)
    try collect()
    return link
  }

  mutating func hangUp(_ link: LinkID) throws {
    guard let ends = links.removeValue(forKey: link) else { return }
    for host in ends.sorted() { try hosts[host].handle(.closed(link), now: now) }
    try collect()
  }

  mutating func hangUpMallory() throws {
    for (link, ends) in links.sorted(by: { $0.key < $1.key }) where ends.count == 1 { try hangUp(link) }
  }

  func isOpen(_ link: LinkID) -> Bool { links[link] != nil }

  private mutating func nextLink() -> LinkID {
    linkCount += 1
    return LinkID(linkCount)
  }

  // MARK: Messages

  /// Mallory sends a message; bytes that are not a message end the link, as in the node.
  mutating func say(_ bytes: [UInt8], on link: LinkID) throws {
    guard let ends = links[link], let host = ends.first else { return }
    guard let message = try? Message(decoding: bytes) else { return try hangUp(link) }
    try hosts[host].handle(.received(link, message), now: now)
    try collect()
  }

  /// An event at a host.
  mutating func happen(_ input: Input, at host: Int) throws {
    try hosts[host].handle(input, now: now)
    try collect()
  }

  mutating func write(_ choices: inout Choices, at host: Int) throws -> [VerifiedChangeSet] {
    defer { now += 1 }
    let sets = try hosts[host].write(&choices, now: now)
    try collect()
    return sets
  }

  /// Collects what the hosts send; Mallory keeps her messages for a while.
  private mutating func collect() throws {
    for index in hosts.indices {
      let sent = hosts[index].sent
      hosts[index].sent = []
      for (link, what) in sent {
        guard let ends = links[link] else { continue }
        if ends.count == 2 {
          traffic.append((link, 1 - index, what))
        } else if case .message(let message) = what {
          if heard.count < 64 { heard.append(message) }
        } else {
          try hangUp(link)
        }
      }
    }
  }

  mutating func forgetHeard() { heard = [] }

  /// Delivers the messages in flight, oldest first.
  mutating func deliver(_ count: Int) throws {
    for _ in 0..<count where !traffic.isEmpty {
      let (link, host, what) = traffic.removeFirst()
      guard links[link] != nil else { continue }
      switch what {
      case .message(let message):
        let bytes = message.encoded
        guard let read = try? Message(decoding: bytes) else {
          throw BrokenRule("\(hosts[1 - host].name) sent an invalid message: \(message)")
        }
        try hosts[host].handle(.received(link, read), now: now)
      case .end:
        links[link] = nil
        for host in hosts { try host.handle(.closed(link), now: now) }
      }
      try collect()
    }
  }

  // MARK: Time

  mutating func run(_ milliseconds: Moment) throws {
    let end = now + milliseconds
    var turns = 0
    while true {
      try deliver(traffic.count)
      turns += 1
      try require(turns < 20_000, "the hosts never stop sending")
      guard traffic.isEmpty else { continue }
      guard let due = hosts.compactMap(\.nextTimer).min(), due <= end else { break }
      now = max(now, due)
      for host in hosts { try host.fireTimers(now: now) }
      try collect()
    }
    now = end
  }
}
