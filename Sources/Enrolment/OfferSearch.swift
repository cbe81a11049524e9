import Home
import Membership
import Reasons
import Synchronization
import Transport
import Wire

/// Listens for devices on the network that offer to pair by a code.
struct OfferSearch {
  typealias Offer = HeardOffers.Offer

  /// The UDP port on which all devices receive beacons and announcements.
  static let port: UInt16 = 7_433
  private static let stepMilliseconds: Int64 = 100

  /// Returns the offer to try. With a choice of several, the person has to choose, because the code must not be tried
  /// with a stranger.
  ///
  /// - Parameter name: the name of the device that the person means; nil if there is to be only one.
  func choose(_ name: String?) async throws -> Offer {
    let heard = try await search()
    let offers = name.map { name in heard.all.filter { $0.name == name } } ?? heard.all
    guard let offer = offers.first else { throw Self.noOffer(name, heard) }
    guard offers.count == 1, name != nil || !heard.isCutOff else { throw Self.several(offers, name) }
    return offer
  }

  /// Listens until at least one offer has been heard, and a little longer, so that every device that offers a code has
  /// announced it meanwhile.
  private func search() async throws -> HeardOffers {
    let heard = Mutex(HeardOffers())
    let sockets = try Self.sockets { datagram, source in
      guard let announcement = CodeAnnouncement(datagram), let host = source.hostBytes else { return }
      let address = Endpoint(host: source.host, port: announcement.port).description
      heard.withLock { $0.add(announcement, from: host, dialling: address) }
    }
    defer { sockets.close() }
    if let any = SocketAddress.numeric("::", port: Self.port) {
      sockets.join(BeaconInterface.all(listening: any, port: Self.port))
    }
    sockets.start()
    var (waited, end) = (Int64(0), Limits.codeSearchMillisecondsMax)
    while waited < end {
      try await Task.sleep(for: .milliseconds(Self.stepMilliseconds))
      waited += Self.stepMilliseconds
      guard end == Limits.codeSearchMillisecondsMax, !heard.withLock({ $0.all.isEmpty }) else { continue }
      end = max(Limits.codeSearchMillisecondsMin, waited + 2 * Limits.codeAnnouncementMilliseconds)
    }
    return heard.withLock { $0 }
  }

  private static func sockets(
    _ received: @escaping @Sendable ([UInt8], SocketAddress) -> Void
  ) throws -> BeaconSockets {
    do {
      return try BeaconSockets(port: port, received: received)
    } catch {
      throw WaymarkError.failed(
        .noOffer,
        "Can't search the network for the other device: UDP port \(port) can't be used here (\(error)).",
        next: .waymark("join CODE --at ADDR:PORT"))
    }
  }

  private static func noOffer(_ name: String?, _ heard: HeardOffers) -> WaymarkError {
    let others = name == nil ? [] : heard.all
    return WaymarkError(
      exitCode: ExitCode.failed, code: .noOffer,
      message: name.map { "No device called “\($0)” on this network offers to pair by a code." }
        ?? "No device on this network offers to pair by a code.",
      next:
        "\(waymark: "invite --code", on: "a device of the circle"); or, if this network has no broadcast, here "
        + "\(waymark: "join CODE --at ADDR:PORT")",
      candidates: others.map(line))
  }

  private static func several(_ offers: [Offer], _ name: String?) -> WaymarkError {
    let isByName = name == nil && Set(offers.map(\.name)).count == offers.count
    return WaymarkError(
      exitCode: ExitCode.usage, code: .severalOffers,
      message: "\(offers.count) devices on this network offer to pair by a code; the code was not tried. "
        + "Which one shows it?",
      next: isByName ? .waymark("join CODE --on NAME") : .waymark("join CODE --at ADDR:PORT"),
      candidates: offers.map(line))
  }

  private static func line(_ offer: Offer) -> String {
    "“\(offer.name)” at \(offer.addresses.joined(separator: ", "))"
  }
}
