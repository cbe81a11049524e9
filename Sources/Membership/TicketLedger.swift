// Protocol/circle.md, "Tickets": the inviter's side, in memory only. A restart voids all tickets.

package import Sodium
package import Wire

/// The tickets that an inviter has created, and which joiners have used them.
package struct TicketLedger: Sendable {
  private struct Entry {
    var ticket: Ticket
    /// Derived once, because every stranger's preamble is compared with it.
    var preambleKey: SymmetricKey?
    var role: Role
    var joiner: DeviceKey?
    var offer: CodeOffer?
  }

  /// The offer of a ticket to anyone who knows a code.
  private struct CodeOffer {
    let code: PairingCode
    /// The tries that are left if all runs in progress fail.
    var triesLeft = Limits.codeTriesMax
    var lastTry: Int64 = 0
    var isDelivered = false

    /// Whether all tries have failed. A run in progress counts as failed once a handshake can't take longer.
    func isOver(at now: Int64) -> Bool {
      triesLeft == 0 && !(0...Limits.handshakeMillisecondsMax).contains(now - lastTry)
    }
  }

  /// An open invitation, as its inviter lists it.
  package struct OpenInvitation: Hashable, Sendable {
    package let id: TicketID
    package let role: Role
    package let expiry: Int64
    /// The tries that are left; nil for an invitation without a code.
    package let triesLeft: Int?
  }

  /// The reason why a joiner is rejected.
  package enum Refusal: Error, Hashable, Sendable {
    /// The ticket was never created, or has been forgotten.
    case unknown
    case expired
    /// Another joiner has used the ticket.
    case spent
    /// Too many handshakes have failed recently.
    case limited
  }

  private var entries: [TicketID: Entry] = [:]
  /// The times at which unsuccessful pairing handshakes began, by the address that they came from.
  private var failures: [String: [Int64]] = [:]

  package init() {}

  /// Returns the tickets that are neither spent nor expired.
  package func open(at now: Int64) -> [Ticket] {
    entries.values.filter { $0.joiner == nil && now < $0.ticket.expiry }.map(\.ticket)
      .sorted { $0.expiry < $1.expiry }
  }

  /// The open invitations, the one that expires first in front.
  package func invitations(at now: Int64) -> [OpenInvitation] {
    open(at: now).compactMap { ticket in
      guard let entry = entries[ticket.id], entry.offer?.isOver(at: now) != true else { return nil }
      return OpenInvitation(
        id: ticket.id, role: entry.role, expiry: ticket.expiry, triesLeft: entry.offer?.triesLeft)
    }
  }

  /// Forgets a ticket that is open. Returns false if there is no such ticket.
  package mutating func cancel(_ id: TicketID, at now: Int64) -> Bool {
    guard invitations(at: now).contains(where: { $0.id == id }) else { return false }
    entries[id] = nil
    return true
  }

  /// Adds a ticket. Returns false if `Limits.ticketsMax` tickets are already open. Spent tickets do not count as open.
  /// The same number of spent tickets is kept for joiners that return; if there are more, those that expire first are
  /// evicted.
  ///
  /// - Parameter code: the code of the ticket. It ends the offer of an earlier code, because a joiner does not say
  ///   which one it means.
  package mutating func add(_ ticket: Ticket, role: Role, code: PairingCode? = nil, at now: Int64) -> Bool {
    if code != nil { endOffers() }
    entries = entries.filter { now < $0.value.ticket.expiry }
    guard open(at: now).count < Limits.ticketsMax else { return false }
    let spent = entries.filter { $0.value.joiner != nil }
      .sorted {
        ($0.value.ticket.expiry, hexadecimal($0.key.bytes)) > (
          $1.value.ticket.expiry, hexadecimal($1.key.bytes)
        )
      }
    for (id, _) in spent.dropFirst(Limits.ticketsMax) { entries[id] = nil }
    entries[ticket.id] = Entry(
      ticket: ticket, preambleKey: try? SymmetricKey(ticket.preambleKey), role: role,
      offer: code.map { CodeOffer(code: $0) })
    return true
  }

  // MARK: Codes

  /// Returns the ticket whose code may be tried now.
  package func offered(at now: Int64) -> TicketID? {
    entries.first { _, entry in
      entry.joiner == nil && now < entry.ticket.expiry && (entry.offer?.triesLeft ?? 0) > 0
    }?.key
  }

  /// Whether an offer has ended because all its tries have failed.
  package func isOver(_ id: TicketID, at now: Int64) -> Bool { entries[id]?.offer?.isOver(at: now) ?? false }

  /// Begins a try. It counts as failed until `deliver` is called, so that neither breaking off nor trying in parallel
  /// gives more tries. Returns the code, and how many tries are left if this one fails; nil if no try is left.
  package mutating func beginTry(of id: TicketID, at now: Int64) -> (code: PairingCode, triesLeft: Int)? {
    guard offered(at: now) == id, var offer = entries[id]?.offer else { return nil }
    offer.triesLeft -= 1
    offer.lastTry = now
    entries[id]?.offer = offer
    return (offer.code, offer.triesLeft)
  }

  /// Records that a try has succeeded, and returns the ticket to deliver; nil if it was cancelled or has expired.
  package mutating func deliver(_ id: TicketID, at now: Int64) -> Ticket? {
    guard let entry = entries[id], var offer = entry.offer, now < entry.ticket.expiry else { return nil }
    offer.triesLeft = min(offer.triesLeft + 1, Limits.codeTriesMax)
    offer.isDelivered = true
    entries[id]?.offer = offer
    return entry.ticket
  }

  /// Ends all offers of codes. A ticket that has been delivered stays valid, because only its receiver knows it.
  private mutating func endOffers() {
    entries = entries.filter { $0.value.offer.map(\.isDelivered) ?? true }
    for id in entries.keys { entries[id]?.offer = nil }
  }

  /// Returns the ticket whose preamble key satisfies a condition. At most `2 * Limits.ticketsMax` keys are tried.
  package func ticket(whose isKey: (SymmetricKey) -> Bool) -> TicketID? {
    entries.first { $0.value.preambleKey.map(isKey) ?? false }?.key
  }

  /// Begins a handshake and returns its ticket. The handshake counts as failed until `succeeded(from:)` is called, so
  /// that parallel attempts can't evade the limit.
  ///
  /// The limit per address is much lower than the limit for all addresses together. Otherwise, one attacker nearby
  /// could keep everybody out.
  package mutating func begin(
    _ id: TicketID, from address: String, at now: Int64
  ) throws(Refusal) -> Ticket {
    forget(at: now)
    guard failures[address, default: []].count < Limits.ticketFailuresMax,
      failures.values.reduce(0, { $0 + $1.count }) < Limits.ticketFailuresInAllMax
    else { throw .limited }
    failures[address, default: []].append(now)
    guard let entry = entries[id] else { throw .unknown }
    guard now < entry.ticket.expiry else { throw .expired }
    return entry.ticket
  }

  /// Records that a handshake from an address was completed, which proves that the joiner holds the secret.
  package mutating func succeeded(from address: String) {
    _ = failures[address]?.popLast()
    if failures[address]?.isEmpty == true { failures[address] = nil }
  }

  /// Forgets failures that are too old, and those that are in the future because the clock was set back.
  private mutating func forget(at now: Int64) {
    failures = failures.compactMapValues { times in
      let recent = times.filter { $0 <= now && now - $0 < Limits.ticketFailureMilliseconds }
      return recent.isEmpty ? nil : recent
    }
  }

  /// Returns the role that a ticket grants to a joiner that has completed the handshake and proved its key. Throws if
  /// the ticket is unknown or has expired, or if another joiner has used it.
  package func role(
    of id: TicketID, for joiner: DeviceKey, at now: Int64
  ) throws(Refusal) -> Role {
    guard let entry = entries[id] else { throw .unknown }
    guard now < entry.ticket.expiry else { throw .expired }
    guard entry.joiner == nil || entry.joiner == joiner else { throw .spent }
    return entry.role
  }

  /// Marks a ticket as used by the joiner that was certified with it. That joiner may return with the same ticket. A
  /// joiner that is rejected, or that is already a member, does not use up the ticket.
  package mutating func spend(_ id: TicketID, on joiner: DeviceKey) {
    if entries[id]?.joiner == nil { entries[id]?.joiner = joiner }
  }

  /// Whether a joiner has used a ticket.
  package func isSpent(_ id: TicketID, on joiner: DeviceKey) -> Bool { entries[id]?.joiner == joiner }
}
