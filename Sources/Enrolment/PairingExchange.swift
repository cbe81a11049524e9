package import Home
package import Membership
package import Reasons
import SecureChannel
import Sodium
import Synchronization
package import Transport
import Wire

/// The joiner's side of pairing, which dials the ticket's addresses one after another.
package struct PairingExchange: Sendable {
  let ticket: Ticket
  let identity: Identity
  let name: String

  package init(ticket: Ticket, identity: Identity, name: String) {
    self.ticket = ticket
    self.identity = identity
    self.name = name
  }

  package func run() async throws -> Circle {
    var failures: [WaymarkError] = []
    for address in ticket.addresses {
      do {
        return try await ask(address)
      } catch let error as WaymarkError where Self.saysLittle.contains(error.reason) {
        failures.append(error)
        guard failures.count(where: { $0.code != .unreachable }) < Self.refusalsMax else { break }
      }
    }
    throw failures.first { $0.code != .unreachable } ?? failures.first
      ?? .unreachable("any address: the ticket has none")
  }

  /// Failures that say nothing about the inviter: another machine or another node may have the inviter's address by
  /// now, so the next address is worth trying. An inviter that does not know the ticket causes the same failures.
  static let saysLittle: Set<Reason> = [.unreachable, .ticketRefused, .wrongDevice]
  /// The joiner gives up after this many refusals, because each takes some seconds.
  private static let refusalsMax = 4

  private func ask(_ address: String) async throws -> Circle {
    guard let endpoint = Endpoint(address) else { throw WaymarkError.unreachable(address) }
    let ticket = ticket
    let answer = LinkOutcome<JoinReply>()
    let link = try Link(
      dialing: endpoint,
      role: .initiator(try ticket.access()) { $0 == ticket.transport ? [] : nil },
      settings: identity.linkSettings { try JoinReply($0) }, handlers: handlers(answer))
    let reply = try await withCheckedThrowingContinuation { continuation in
      answer.await(continuation)
      link.start()
    }
    return try circle(reply)
  }

  private func handlers(_ answer: LinkOutcome<JoinReply>) -> LinkHandlers<JoinReply> {
    LinkHandlers(
      opened: { link, opening in
        let request = JoinRequest(
          key: identity.signing, transport: identity.transportKey, name: name,
          handshakeHash: opening.handshakeHash.bytes)
        link.send(request.encoded)
      },
      received: { link in
        for reply in link.takeInbox() { answer.resolve(.success(reply)) }
        link.close()
      },
      closed: { link, end in
        for reply in link.takeInbox() { answer.resolve(.success(reply)) }
        answer.resolve(.failure(failure(end)))
      })
  }

  private func failure(_ end: LinkEnd) -> WaymarkError {
    switch end {
    case .handshakeFailed, .closedByPeer, .truncated:
      .failed(
        .ticketRefused,
        "The inviting device rejected the ticket: it was already used, has expired, or is wrong.",
        next: "\(waymark: "invite", on: "that device"); then here \(waymark: "join") with the new ticket")
    case .notAuthorized:
      .failed(
        .wrongDevice, "A different device answered at the address in the ticket.",
        next:
          "\(waymark: "invite", on: "a device of the circle"); then here \(waymark: "join") with the new ticket"
      )
    case .versionMismatch(let theirs): .otherVersion(theirs)
    default: .unreachable(ticket.addresses.joined(separator: ", "))
    }
  }

  private func circle(_ reply: JoinReply) throws -> Circle {
    switch reply {
    case .refused(let refusal): throw WaymarkError.refused(refusal)
    case .accepted(let statements):
      guard
        let circle = Circle.joined(
          statements, ticket: ticket, device: identity.device, transport: identity.transportKey)
      else {
        throw WaymarkError.failed(
          .wrongCircle, "The answer came from a circle other than the ticket's.",
          next:
            "\(waymark: "invite", on: "a device of the circle"); then here \(waymark: "join") with the new ticket"
        )
      }
      return circle
    }
  }
}

/// Resumes a continuation with the first of several outcomes of a link.
final class LinkOutcome<Value: Sendable>: Sendable {
  private let continuation = Mutex<CheckedContinuation<Value, any Error>?>(nil)

  func await(_ continuation: CheckedContinuation<Value, any Error>) {
    self.continuation.withLock { $0 = continuation }
  }

  func resolve(_ result: Result<Value, any Error>) {
    let waiting = continuation.withLock { held in
      defer { held = nil }
      return held
    }
    waiting?.resume(with: result)
  }
}

extension WaymarkError {
  static func unreachable(_ address: String) -> WaymarkError {
    .failed(
      .unreachable, "The inviting device can't be reached at \(address).",
      next: "check that its node or invite command is running, and that both devices are on the same network")
  }

  /// Returns the error that tells a joiner why the inviting device does not admit it.
  package static func refused(_ refusal: JoinRefusal) -> WaymarkError {
    let (code, message): (Reason, LocalizableText) =
      switch refusal {
      case .ticketSpent: (.ticketSpent, "The ticket was already used by another device.")
      case .ticketExpired: (.ticketExpired, "The ticket has expired.")
      case .circleFull: (.circleFull, "The circle is full; it can't admit another device.")
      case .keyInUse: (.keyInUse, "These keys already belong to a member of the circle, or were revoked.")
      case .notAdmin: (.notAdmin, "The inviting device is no longer an admin of its circle.")
      case .badProof, .other: (.refused, "The inviting device refused the request.")
      }
    return .failed(
      code, message,
      next:
        "\(waymark: "invite", on: "a device of the circle"); then here \(waymark: "join") with the new ticket"
    )
  }
}

extension Identity {
  /// Returns the settings that all links of this device share.
  package func linkSettings<Message>(
    decode: @escaping @Sendable ([UInt8]) throws -> Message
  ) -> LinkSettings<Message> {
    LinkSettings(
      makeKeys: { [transport] in
        ChannelKeys(staticKey: transport, ephemeral: try AgreementKey(), nonce: random16())
      },
      decode: decode)
  }
}
