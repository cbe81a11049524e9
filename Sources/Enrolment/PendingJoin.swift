package import Home
package import Membership
import Platform
import Reasons
import Wire

/// The keys and the ticket of a join that has begun, stored in the folder `join-pending/` of the home.
///
/// The keys and the ticket are durable before the inviter is asked, and stay until the new store is in place. A join
/// that was interrupted at any point, even after the inviter has certified the keys, continues with the same keys when
/// it is repeated with this ticket or a later one for the same circle. So the circle never has two members for one
/// device.
package struct PendingJoin: Sendable {
  private let home: Home
  private var folder: Home { home.moved(to: home.pendingJoin) }
  private var ticketFile: String { home.pendingJoin + "/ticket" }

  package init(_ home: Home) { self.home = home }

  /// The ticket of the interrupted join; nil if there is none.
  var ticket: Ticket? {
    let bytesMax = Limits.ticketCharactersMax + 64
    guard let bytes = try? Files.read(ticketFile, bytesMax: bytesMax) else { return nil }
    return try? Ticket(line: String(decoding: bytes, as: UTF8.self))
  }

  /// Returns the keys of an interrupted join of the ticket's circle, or else new keys. The keys and the ticket are
  /// durable when this function returns.
  package func identity(for ticket: Ticket) throws -> (identity: Identity, isNew: Bool) {
    if self.ticket?.circle == ticket.circle, let identity = try pendingIdentity() {
      try save(ticket)
      return (identity, false)
    }
    return (try makeIdentity(for: ticket), true)
  }

  /// Returns the keys of the interrupted join; nil if they are lost or damaged.
  private func pendingIdentity() throws -> Identity? {
    do {
      return try Identity.load(from: folder)
    } catch let error as WaymarkError where error.isKeyElsewhere(than: folder) {
      throw error
    } catch {
      return nil
    }
  }

  /// Creates new keys, replacing those of an interrupted join.
  func makeIdentity(for ticket: Ticket) throws -> Identity {
    try discard()
    try folder.prepare()
    let identity = try Identity.generate()
    try identity.save(in: folder)
    try save(ticket)
    for path in [folder.keys, folder.path] { try Files.syncFolder(of: path) }
    return identity
  }

  /// Removes the pending keys and the ticket if the join is complete, so that this device has these keys. A join may be
  /// interrupted before it does so itself.
  package func discard(ifDoneBy identity: Identity) {
    guard Files.exists(folder.deviceKey), (try? Identity.load(from: folder))?.device == identity.device else {
      return
    }
    try? discard()
  }

  /// Removes the pending keys and the ticket, when the join is complete or the keys are of no further use.
  func discard() throws { try folder.discard() }

  private func save(_ ticket: Ticket) throws {
    try Files.replace(ticketFile, with: Array((ticket.line + "\n").utf8), mode: 0o600)
  }
}
