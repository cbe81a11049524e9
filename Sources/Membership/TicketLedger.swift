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
  /// When pairing handshakes began that have not succeeded, by the address they came from.
  private var failures: [String: [Int64]] = [:]

  package init() {}

  /// The tickets that are neither spent nor expired.
  package func open(at now: Int64) -> [Ticket] {
    entries.values.filter { $0.joiner == nil && now < $0.ticket.expiry }.map(\.ticket)
      .sorted { $0.expiry < $1.expiry }
  }

  /// Adds a ticket; false if `Limits.ticketsMax` are open already. Spent tickets do not count: as many of them are kept
  /// for joiners that come again, those that expire first are evicted.
  package mutating func add(_ ticket: Ticket, role: Role, at now: Int64) -> Bool {
    entries = entries.filter { now < $0.value.ticket.expiry }
    guard open(at: now).count < Limits.ticketsMax else { return false }
    let spent = entries.filter { $0.value.joiner != nil }
      .sorted {
        ($0.value.ticket.expiry, hexadecimal($0.key.bytes)) > (
          $1.value.ticket.expiry, hexadecimal($1.key.bytes)
        )
      }
    for (id, _) in spent.dropFirst(Limits.ticketsMax) { entries[id] = nil }
    entries[ticket.id] = Entry(ticket: ticket, role: role)
    return true
  }

  /// The ticket for which a handshake may begin. It counts as failed until `succeeded(from:)`, so that many at
  /// the same time are no way around the limit.
  ///
  /// One address is stopped long before all together are: or else anybody nearby could keep everybody out.
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

  /// A handshake that began from an address has come to its end: the joiner holds the secret.
  package mutating func succeeded(from address: String) {
    _ = failures[address]?.popLast()
    if failures[address]?.isEmpty == true { failures[address] = nil }
  }

  /// Failures that are long ago, or that a clock set back has put into the future.
  private mutating func forget(at now: Int64) {
    failures = failures.compactMapValues { times in
      let recent = times.filter { $0 <= now && now - $0 < Limits.ticketFailureMilliseconds }
      return recent.isEmpty ? nil : recent
    }
  }

  /// The role that a ticket gives to a joiner that has completed the handshake and proven its key; throws if the
  /// ticket is another joiner's.
  package func role(
    of id: TicketID, for joiner: DeviceKey, at now: Int64
  ) throws(Refusal) -> Role {
    guard let entry = entries[id] else { throw .unknown }
    guard now < entry.ticket.expiry else { throw .expired }
    guard entry.joiner == nil || entry.joiner == joiner else { throw .spent }
    return entry.role
  }

  /// Spends a ticket on the joiner that was certified with it, which may come again. A joiner that is refused, or
  /// is a member already, does not spend it.
  package mutating func spend(_ id: TicketID, on joiner: DeviceKey) {
    if entries[id]?.joiner == nil { entries[id]?.joiner = joiner }
  }

  /// Whether a joiner has spent a ticket.
  package func isSpent(_ id: TicketID, on joiner: DeviceKey) -> Bool { entries[id]?.joiner == joiner }
}
