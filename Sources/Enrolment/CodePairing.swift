import Home
package import Membership
import Reasons
package import SecureChannel
import Sodium
import Synchronization
import Transport
package import Wire

extension CodeExchange.Run {
  /// Makes one end's part of a run with a code; nil if there is no memory for its secrets.
  package init?(_ code: PairingCode, _ session: Bytes16, triesLeft: Int) {
    guard
      let pace = try? CPace(
        password: code.digits, channel: CodeExchange.channel, session: session.bytes,
        scalar: try RistrettoScalar())
    else { return nil }
    self.init(pace, triesLeft: UInt8(clamping: triesLeft))
  }
}

/// The joiner's side of pairing by code: proves that it knows the code, and receives the ticket.
///
///     search for offers ──▶ choose one ──▶ CPace and handshake ──▶ ticket ──▶ `JoinOperation`
package struct CodePairing: Sendable {
  private let code: PairingCode

  /// Returns nil if the text is not a code.
  package init?(_ text: String) {
    guard let code = PairingCode(text) else { return nil }
    self.code = code
  }

  /// Returns the text of the ticket that the inviting device offers.
  ///
  /// - Parameters:
  ///   - address: the address of the inviting device; nil to search the network for it.
  ///   - name: the name of the inviting device, if several offer a code.
  ///   - chosen: called with the device's name, if it is known, and its address before the code is tried.
  package func ticket(
    at address: String?, on name: String?, chosen: (_ name: String?, _ address: String) -> Void
  ) async throws -> String {
    if let address {
      guard let endpoint = Endpoint(address), endpoint.port > 0 else {
        throw WaymarkError.badValue("--at", address, allowed: "expected ADDR:PORT, such as 192.168.1.20:7433")
      }
      return try await ask([endpoint.description])
    }
    let offer = try await OfferSearch().choose(name)
    chosen(offer.name, offer.addresses.first ?? "")
    return try await ask(offer.addresses)
  }

  /// Tries the addresses of one device in turn. A device that has answered is not asked again, so one call uses one
  /// try.
  private func ask(_ addresses: [String]) async throws -> String {
    var failure = WaymarkError.unreachable("any address")
    for address in addresses {
      let progress = Progress()
      do {
        return try await ask(address, progress).line
      } catch let error as WaymarkError where error.code == .unreachable && !progress.hasAnswered {
        failure = error
      }
    }
    throw failure
  }

  private func ask(_ address: String, _ progress: Progress) async throws -> Ticket {
    guard let endpoint = Endpoint(address) else { throw WaymarkError.unreachable(address) }
    let exchange = CodeExchange(
      begin: { CodeExchange.Run(code, $0, triesLeft: 0) }, answered: { progress.answered($0) })
    let outcome = LinkOutcome<Ticket>()
    // The joiner's own keys are not needed yet, so the inviter sees a key that is used once.
    let transport = try AgreementKey()
    let link = try Link(
      dialing: endpoint, role: .initiator(ChannelAccess(code: TicketID(0), exchange)) { _ in [] },
      settings: LinkSettings(
        makeKeys: { ChannelKeys(staticKey: transport, ephemeral: try AgreementKey(), nonce: random16()) },
        decode: { try Ticket(line: String(decoding: $0, as: UTF8.self)) }),
      handlers: handlers(outcome, progress, address))
    var ticket = try await withCheckedThrowingContinuation { continuation in
      outcome.await(continuation)
      link.start()
    }
    guard ticket.transport == progress.remoteKey else {
      throw WaymarkError.failed(
        .wrongDevice, "The device that has the code offers a ticket of another device.",
        next: "\(waymark: "invite --code", on: "a device of the circle"); then here \(waymark: "join CODE")")
    }
    // This address works from here, which the inviter can't know of the others.
    ticket.addresses = Array(
      ([address] + ticket.addresses.filter { $0 != address }).prefix(Limits.addressesMax))
    return ticket
  }

  private func handlers(
    _ outcome: LinkOutcome<Ticket>, _ progress: Progress, _ address: String
  ) -> LinkHandlers<Ticket> {
    let received: @Sendable (Link<Ticket>) -> Void = { link in
      for ticket in link.takeInbox() { outcome.resolve(.success(ticket)) }
    }
    return LinkHandlers(
      opened: { link, opening in
        progress.opened(opening.remoteKey)
        link.admit()
      },
      received: { link in
        received(link)
        link.close()
      },
      closed: { link, end in
        received(link)
        outcome.resolve(.failure(progress.failure(end, address)))
      })
  }

  /// How far a run has come, which tells why it failed.
  private final class Progress: Sendable {
    private let state = Mutex<(triesLeft: UInt8?, remoteKey: TransportKey?)>((nil, nil))

    func answered(_ triesLeft: UInt8) { state.withLock { $0.triesLeft = triesLeft } }
    func opened(_ key: TransportKey) { state.withLock { $0.remoteKey = key } }
    var remoteKey: TransportKey? { state.withLock { $0.remoteKey } }
    var hasAnswered: Bool { state.withLock { $0.triesLeft != nil } }

    func failure(_ end: LinkEnd, _ address: String) -> WaymarkError {
      let (triesLeft, remoteKey) = state.withLock { $0 }
      switch end {
      case .handshakeFailed where triesLeft != nil && remoteKey == nil:
        return .wrongCode(triesLeft: Int(triesLeft ?? 0))
      case .versionMismatch(let theirs): return .otherVersion(theirs)
      case .handshakeFailed, .closedByPeer, .truncated, .invalidMessage, .violation:
        return .codeRefused(address)
      default: return .unreachable(address)
      }
    }
  }
}

extension WaymarkError {
  fileprivate static func wrongCode(triesLeft: Int) -> WaymarkError {
    guard triesLeft > 0 else {
      return .failed(
        .wrongCode, "The code is wrong. That was the last try, so the other device has ended its offer.",
        next: "\(waymark: "invite --code", on: "that device"); then here \(waymark: "join") with the new code"
      )
    }
    return .failed(
      .wrongCode, "The code is wrong: \(triesLeft == 1 ? "1 try is" : "\(triesLeft) tries are") left.",
      next: "check the six digits on the other device; then here \(waymark: "join CODE")")
  }

  fileprivate static func codeRefused(_ address: String) -> WaymarkError {
    .failed(
      .codeRefused,
      "The device at \(address) offers no code now: it has expired, was used or cancelled, or was tried too often.",
      next: "\(waymark: "invite --code", on: "that device"); then here \(waymark: "join") with the new code")
  }

  /// The error that an inviting device has another version of the protocol.
  static func otherVersion(_ theirs: UInt8) -> WaymarkError {
    .failed(
      .newerProtocol,
      "The inviting device uses protocol version \(theirs), but this one uses version "
        + "\(Preamble.currentVersion).",
      next: "install the newer Waymark here; to see the version of this one: \(waymark: "version")")
  }
}
