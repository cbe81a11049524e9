import Enrolment
import Membership
import Replication
import Transport
package import Wire

/// The state of a node while it is serving, with its listener and its links.
package struct ServingState {
  struct ActiveLink {
    let link: any NodeLink
    /// The address that was dialled; nil for an incoming link.
    let dialled: String?
    /// The peer's address as the socket reports it.
    let remoteAddress: String
    /// How many of the link's received bytes are handled in one turn.
    var turnBytes = Limits.turnBytesBegin
    var device: DeviceKey?
    var pairing: Pairing?
  }

  /// How a node was asked to serve.
  struct Request {
    /// Where to listen, as asked; port 0 means any.
    let endpoint: Endpoint
    /// The addresses that the command line, the configuration or the app gave.
    let peers: [String]
    let discovers: Bool
  }

  let request: Request
  let listener: any NodeListener
  let startedAt: Moment
  var links: [LinkID: ActiveLink] = [:]
  var lastSeen: [DeviceKey: Moment] = [:]
  package var lastAddress: [DeviceKey: String] = [:]
  /// The addresses that the command line or the configuration gave.
  var givenAddresses: [String] = []
  /// The state of discovery; nil if discovery is off.
  var beacons: BeaconSchedule?
  /// The code that is announced on the local network; nil if there is none.
  var announced: AnnouncedCode?
  /// The interfaces of this machine at the last check.
  var interfaces: [NetworkInterface] = []
  /// The addresses that other machines can dial, as confirmed by two checks; empty if there are none, nil if the
  /// interfaces have just changed.
  var lastingAddresses: [String]?
  private var nextLink: UInt64 = 0

  init(_ request: Request, listener: any NodeListener, startedAt: Moment) {
    self.request = request
    givenAddresses = request.peers
    self.listener = listener
    self.startedAt = startedAt
  }

  /// The `ADDR:PORT` at which this node listens.
  package var listening: String { listener.address.description }

  /// Whether this machine has no address that another machine could dial.
  var isCutOff: Bool {
    listener.address.isUnspecified && SocketAddress.ofThisMachine(port: listener.address.port).isEmpty
  }

  /// The addresses to announce: the address at which the node listens or, if it listens on all of this machine's
  /// addresses, all of those.
  var reachableAddresses: [String] {
    guard listener.address.isUnspecified else { return [listening] }
    let port = listener.address.port
    let found = SocketAddress.ofThisMachine(port: port).map(\.description)
    return found.isEmpty ? [Endpoint(host: "127.0.0.1", port: port).description] : found
  }

  /// Whether this node can be reached only from its own machine, so that all of its peers run there too.
  var isLocal: Bool {
    reachableAddresses.compactMap { Endpoint($0) }
      .allSatisfy { SocketAddress.numeric($0.host, port: $0.port)?.isLoopback == true }
  }

  mutating func add(_ link: ActiveLink) -> LinkID {
    nextLink += 1
    let id = LinkID(nextLink)
    links[id] = link
    return id
  }

  func address(of link: LinkID) -> String? { links[link].map { $0.dialled ?? $0.remoteAddress } }

  mutating func identified(_ link: LinkID, as device: DeviceKey, at now: Moment) {
    links[link]?.device = device
    lastSeen[device] = now
    guard let active = links[link] else { return }
    lastAddress[device] = active.dialled ?? active.remoteAddress
  }
}
