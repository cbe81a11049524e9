// Protocol/circle.md, "Tickets": the inviter's side. In memory only; a restart voids all tickets.

package import Wire

/// The tickets an inviter has given out, and what became of them.
package struct TicketLedger: Sendable {
  private struct Entry {
    var ticket: Ticket
    var role: Role
    var joiner: DeviceKey?
  }

  /// Why a joiner is turned away.
  package enum Refusal: Error, Hashable, Sendable {
    /// Never given out, or forgotten.
    case unknown
    case expired
    /// Another key has completed with it.
    case spent
    /// Too many handshakes failed of late.
    case limited
  }

  private var entries: [TicketID: Entry] = [:]
  private var failures: [Int64] = []

  package init() {}

  /// The tickets that are neither spent nor expired.
  package func open(at now: Int64) -> [Ticket] {
    entries.values.filter { $0.joiner == nil && now < $0.ticket.expiry }.map(\.ticket)
      .sorted { $0.expiry < $1.expiry }
  }

  /// Adds a ticket; false if `Limits.ticketsMax` are open already.
  package mutating func add(_ ticket: Ticket, role: Role, at now: Int64) -> Bool {
    entries = entries.filter { now < $0.value.ticket.expiry }
    guard entries.count < Limits.ticketsMax else { return false }
    entries[ticket.id] = Entry(ticket: ticket, role: role)
    return true
  }

  /// The ticket for which a handshake may begin.
  package mutating func ticket(_ id: TicketID, at now: Int64) throws(Refusal) -> Ticket {
    failures.removeAll { now - $0 >= Limits.ticketFailureMilliseconds || $0 > now }
    guard failures.count < Limits.ticketFailuresMax else { throw .limited }
    guard let entry = entries[id] else {
      failed(at: now)
      throw .unknown
    }
    guard now < entry.ticket.expiry else { throw .expired }
    return entry.ticket
  }

  /// A handshake with a ticket failed, or named no ticket.
  package mutating func failed(at now: Int64) {
    if failures.count < Limits.ticketFailuresMax { failures.append(now) }
  }

  /// Spends a ticket on the first joiner that completes the handshake and proves its key; the same
  /// joiner may come again.
  package mutating func spend(
    _ id: TicketID, on joiner: DeviceKey, at now: Int64
  ) throws(Refusal) -> Role {
    guard let entry = entries[id] else { throw .unknown }
    guard now < entry.ticket.expiry else { throw .expired }
    guard entry.joiner == nil || entry.joiner == joiner else { throw .spent }
    entries[id]?.joiner = joiner
    return entry.role
  }
}
