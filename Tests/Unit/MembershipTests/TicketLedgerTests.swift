import Membership
import Sodium
import Testing
import Wire

/// Which tickets an inviter lists and forgets, and which failures still count.
@Suite struct TicketLedgerTests {
  private func ticket(_ world: World, _ secret: UInt64, expiry: Int64) -> Ticket {
    Ticket(
      circle: world.circle.id, transport: World.transport(of: world.alice), addresses: ["192.0.2.1:1"],
      secret: Bytes16(0, secret), expiry: expiry)
  }

  @Test func `of used tickets, those that expire first are forgotten first`() throws {
    let world = try World()
    var ledger = TicketLedger()
    let used = (0...UInt64(Limits.ticketsMax)).map { ticket(world, $0, expiry: 9_000 - Int64($0)) }
    for ticket in used {
      let isAdded = ledger.add(ticket, role: .member, at: 0)
      #expect(isAdded)
      ledger.spend(ticket.id, on: DeviceKey(world.bob))
    }
    let new = ticket(world, 99, expiry: 1_000)
    let isAdded = ledger.add(new, role: .admin, at: 0)
    #expect(isAdded)
    let known = used.map { ledger.isSpent($0.id, on: DeviceKey(world.bob)) }
    #expect(known == Array(repeating: true, count: Limits.ticketsMax) + [false])
    #expect(ledger.open(at: 0) == [new])
  }

  @Test func `open invitations are listed by their end, with their roles, and can be cancelled once`()
    throws
  {
    let world = try World()
    var ledger = TicketLedger()
    let (late, soon, used) = (
      ticket(world, 1, expiry: 3_000), ticket(world, 2, expiry: 2_000), ticket(world, 3, expiry: 2_500)
    )
    for (ticket, role) in [(late, Role.admin), (soon, .member), (used, .member)] {
      let isAdded = ledger.add(ticket, role: role, at: 0)
      #expect(isAdded)
    }
    ledger.spend(used.id, on: DeviceKey(world.bob))
    #expect(ledger.invitations(at: 0).map(\.id) == [soon.id, late.id])
    #expect(ledger.invitations(at: 0).map(\.role) == [.member, .admin])
    #expect(ledger.invitations(at: 2_000).map(\.id) == [late.id])
    #expect(ledger.invitations(at: 0).allSatisfy { $0.triesLeft == nil })
    let cancelled = [used.id, late.id, late.id].map { ledger.cancel($0, at: 0) }
    #expect(cancelled == [false, true, false])
    #expect(throws: TicketLedger.Refusal.unknown) { try ledger.begin(late.id, from: "bob", at: 1) }
    #expect(ledger.isSpent(used.id, on: DeviceKey(world.bob)), "its joiner may come again")
    let ended = ledger.cancel(soon.id, at: 2_000)
    #expect(!ended)
  }

  @Test func `failures in the future of a clock that was set back don't count`() throws {
    let world = try World()
    let good = ticket(world, 1, expiry: 1_000_000_000)
    var ledger = TicketLedger()
    _ = ledger.add(good, role: .member, at: 0)
    for _ in 0..<Limits.ticketFailuresMax { _ = try ledger.begin(good.id, from: "bob", at: 500_000) }
    #expect(throws: TicketLedger.Refusal.limited) { try ledger.begin(good.id, from: "bob", at: 500_000) }
    #expect(try ledger.begin(good.id, from: "bob", at: 499_999) == good)
  }

  @Test func `a success takes back only a failure of its own address`() throws {
    let world = try World()
    let good = ticket(world, 1, expiry: 1_000_000)
    var ledger = TicketLedger()
    _ = ledger.add(good, role: .member, at: 0)
    for _ in 0..<Limits.ticketFailuresMax {
      for address in ["bob", "eve"] { _ = try ledger.begin(good.id, from: address, at: 1) }
    }
    ledger.succeeded(from: "carol")
    ledger.succeeded(from: "bob")
    #expect(throws: TicketLedger.Refusal.limited) { try ledger.begin(good.id, from: "eve", at: 2) }
    #expect(try ledger.begin(good.id, from: "bob", at: 2) == good)
    #expect(throws: TicketLedger.Refusal.limited) { try ledger.begin(good.id, from: "bob", at: 2) }
  }
}
