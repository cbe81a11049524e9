import Foundation
import Membership
import Sodium
import Testing
import Wire

/// The announcements of Protocol/vectors/pairing-code.json.
struct AnnouncementVectors: Decodable, Sendable {
  struct Row: Decodable, Sendable, CustomTestStringConvertible {
    var name, bytes: String
    var accepted: Bool
    var device, host: String?
    var port: UInt16?
    var testDescription: String { name }
  }
  struct Announced: Decodable, Sendable {
    var seed, host, device, bytes: String
    var port: UInt16
  }

  var announcements: [Row]
  var announced: Announced

  static let all: AnnouncementVectors = {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let file = folder.appending(path: "../../Protocol/vectors/pairing-code.json")
    do {
      return try JSONDecoder().decode(AnnouncementVectors.self, from: Data(contentsOf: file))
    } catch {
      fatalError("Protocol/vectors/pairing-code.json can't be read: \(error)")
    }
  }()
}

@Suite struct `A pairing code` {
  @Test(arguments: ["482913", "482 913", "482-913", " 4 8-2 9-1 3 ", "482913\n"])
  func `is read as people type it`(text: String) { #expect(PairingCode(text)?.shown == "482 913") }

  @Test(arguments: ["", "48291", "4829133", "48291a", "٤٨٢٩١٣", "482,913", "waymark1482913", "１２３４５６"])
  func `is six digits and nothing else`(text: String) { #expect(PairingCode(text) == nil) }

  @Test(arguments: [0, 7, 482_913, 999_999]) func `is read back from what is shown`(number: Int) throws {
    let code = try PairingCode(number: number)
    #expect(code.shown.count == 7 && Int(code.shown.filter(\.isNumber)) == number)
    #expect(PairingCode(code.shown)?.digits.equals(code.digits) == true)
  }
}

@Suite struct `An announcement of a code` {
  @Test(arguments: AnnouncementVectors.all.announcements)
  func `is opened or refused as the vectors say`(row: AnnouncementVectors.Row) throws {
    let opened = CodeAnnouncement(unhex(row.bytes))
    #expect((opened != nil) == row.accepted)
    guard let opened, row.accepted else { return }
    #expect(opened.name == row.device && opened.port == row.port && opened.host == Bytes16(unhex(row.host)))
  }

  @Test func `has the bytes of the vector, and no length of a beacon`() throws {
    let row = AnnouncementVectors.all.announced
    let made = CodeAnnouncement.sealed(
      host: try #require(Bytes16(unhex(row.host))), port: row.port, name: row.device,
      by: try SigningKey(seed: unhex(row.seed)))
    #expect(made == unhex(row.bytes))
    #expect(!Beacon.isPlausible(made) && !Beacon.lengths.contains(CodeAnnouncement.bytes))
  }

  @Test func `with any bit changed is refused`() {
    let bytes = unhex(AnnouncementVectors.all.announced.bytes)
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 1 << UInt8(index % 8)
      #expect(CodeAnnouncement(changed) == nil, "byte \(index)")
    }
  }
}

@Suite struct `Offers that a joiner hears` {
  private let host = Bytes16(0, 0xffff_c0a8_0114)
  private let other = Bytes16(0, 0xffff_c0a8_0115)

  private func announcement(
    _ key: SigningKey, host: Bytes16, name: String = "laptop"
  ) throws -> CodeAnnouncement {
    try #require(CodeAnnouncement(CodeAnnouncement.sealed(host: host, port: 7433, name: name, by: key)))
  }

  @Test func `are one for one key, however often and from wherever it is announced`() throws {
    var heard = HeardOffers()
    let key = try SigningKey()
    let (first, second) = ("192.168.1.20:7433", "192.168.1.21:7433")
    for (source, address) in [(host, first), (other, second), (host, first)] {
      heard.add(try announcement(key, host: source), from: source, dialling: address)
    }
    #expect(heard.all.map(\.name) == ["laptop"])
    #expect(heard.all.first?.addresses == [first, second])
  }

  @Test func `do not include one that is replayed from another address`() throws {
    var heard = HeardOffers()
    heard.add(try announcement(SigningKey(), host: host), from: other, dialling: "192.168.1.21:7433")
    #expect(heard.all.isEmpty)
  }

  @Test func `of two devices with the same name are two`() throws {
    var heard = HeardOffers()
    heard.add(try announcement(SigningKey(), host: host), from: host, dialling: "a:1")
    heard.add(try announcement(SigningKey(), host: other), from: other, dialling: "b:1")
    #expect(heard.all.map(\.addresses) == [["a:1"], ["b:1"]])
  }

  @Test func `are limited in a flood, which is noticed`() throws {
    var heard = HeardOffers()
    let key = try SigningKey()
    for number in 0..<2 * Limits.foundAddressesMax {
      heard.add(try announcement(key, host: host), from: host, dialling: "192.168.1.20:\(number)")
    }
    #expect(heard.all.first?.addresses.count == Limits.foundAddressesMax && !heard.isCutOff)
    for _ in 0..<2 * Limits.codeOffersMax {
      heard.add(try announcement(SigningKey(), host: host), from: host, dialling: "192.168.1.20:1")
    }
    #expect(heard.all.count == Limits.codeOffersMax && heard.isCutOff)
  }
}

@Suite struct `An offer by code` {
  private let joiner = DeviceKey(Bytes32(1, 1, 1, 1))

  private func ticket(_ secret: UInt64 = 1, expiry: Int64 = 1_000_000) throws -> Ticket {
    let world = try World()
    return Ticket(
      circle: world.circle.id, transport: World.transport(of: world.alice), addresses: [],
      secret: Bytes16(0, secret), expiry: expiry)
  }

  private func ledger(_ ticket: Ticket) throws -> TicketLedger {
    var ledger = TicketLedger()
    let isAdded = ledger.add(ticket, role: .member, code: try PairingCode(number: 5), at: 0)
    #expect(isAdded)
    return ledger
  }

  @Test func `ends after three tries that are not confirmed`() throws {
    let ticket = try ticket()
    var ledger = try ledger(ticket)
    let left = (0..<4).map { _ in ledger.beginTry(of: ticket.id, at: 1)?.triesLeft }
    #expect(left == [2, 1, 0, nil] && ledger.offered(at: 1) == nil)
    // The last run may still be confirmed, as long as a handshake may take.
    #expect(!ledger.isOver(ticket.id, at: 1) && ledger.invitations(at: 1).map(\.triesLeft) == [0])
    let later = 2 + Limits.handshakeMillisecondsMax
    #expect(ledger.isOver(ticket.id, at: later) && ledger.invitations(at: later).isEmpty)
  }

  @Test func `takes back a try that is confirmed, so parallel runs are no more than three`() throws {
    let ticket = try ticket()
    var ledger = try ledger(ticket)
    for _ in 0..<20 {
      let left = ledger.beginTry(of: ticket.id, at: 1)?.triesLeft
      let delivered = ledger.deliver(ticket.id, at: 1)
      #expect(left == 2 && delivered == ticket)
    }
    _ = ledger.beginTry(of: ticket.id, at: 1)
    // More confirmations than tries, which can't happen, give no fourth try.
    for _ in 0..<9 { _ = ledger.deliver(ticket.id, at: 1) }
    let tries = (0..<9).count { _ in ledger.beginTry(of: ticket.id, at: 1) != nil }
    #expect(tries == 3)
  }

  @Test func `gives its ticket to two devices that know the code, and one of them joins`() throws {
    let ticket = try ticket()
    var ledger = try ledger(ticket)
    let tries = (0..<2).map { _ in ledger.beginTry(of: ticket.id, at: 1)?.triesLeft }
    let delivered = (0..<2).map { _ in ledger.deliver(ticket.id, at: 1) }
    #expect(tries == [2, 1] && delivered == [ticket, ticket])
    ledger.spend(ticket.id, on: joiner)
    #expect(throws: TicketLedger.Refusal.spent) {
      try ledger.role(of: ticket.id, for: DeviceKey(Bytes32(2, 2, 2, 2)), at: 1)
    }
    #expect(try ledger.role(of: ticket.id, for: joiner, at: 1) == .member)
    let further = ledger.beginTry(of: ticket.id, at: 1)
    #expect(ledger.offered(at: 1) == nil && further == nil)
  }

  @Test func `ends when it expires or is cancelled`() throws {
    let ticket = try ticket(expiry: 10)
    var ledger = try ledger(ticket)
    let tries = [9, 10].map { ledger.beginTry(of: ticket.id, at: $0)?.triesLeft }
    #expect(tries == [2, nil] && ledger.offered(at: 10) == nil)
    let late = ledger.deliver(ticket.id, at: 10)
    let isCancelled = [10, 9].map { ledger.cancel(ticket.id, at: $0) }
    #expect(late == nil && isCancelled == [false, true])
    let delivered = ledger.deliver(ticket.id, at: 9)
    #expect(ledger.offered(at: 9) == nil && delivered == nil)
    #expect(throws: TicketLedger.Refusal.unknown) { try ledger.role(of: ticket.id, for: joiner, at: 9) }
  }

  @Test func `is replaced by a later one, except for a ticket that was delivered`() throws {
    let (first, second, third) = (try ticket(1), try ticket(2), try ticket(3))
    var ledger = try ledger(first)
    _ = ledger.add(second, role: .admin, code: try PairingCode(number: 6), at: 1)
    #expect(ledger.offered(at: 1) == second.id && ledger.open(at: 1) == [second])
    let replaced = ledger.beginTry(of: first.id, at: 1)
    #expect(replaced == nil)
    _ = ledger.beginTry(of: second.id, at: 1)
    _ = ledger.deliver(second.id, at: 1)
    _ = ledger.add(third, role: .member, code: try PairingCode(number: 7), at: 1)
    let earlier = ledger.beginTry(of: second.id, at: 1)
    #expect(ledger.offered(at: 1) == third.id && earlier == nil)
    #expect(try ledger.role(of: second.id, for: joiner, at: 1) == .admin)
  }
}
