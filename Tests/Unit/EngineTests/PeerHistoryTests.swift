import Engine
import Families
import Membership
import Replication
import Storage
import Testing
import Wire

/// What a store remembers of peers from one start to the next.
@Suite struct PeerHistoryTests {
  private let store: Store
  private let bob = DeviceKey(Family.key("bob"))
  private let carol = DeviceKey(Family.key("carol"))

  init() throws { store = try Store.inMemory() }

  @Test func `names with spaces are kept, each until it is removed`() throws {
    var history = try PeerHistory(store)
    #expect(history.names.isEmpty)
    try history.keep(name: "Bob's  old phone ", of: bob, in: store)
    try history.keep(name: "nas", of: carol, in: store)
    #expect(history.names == [bob: "Bob's  old phone ", carol: "nas"])
    #expect(try PeerHistory(store).names == history.names)
    try history.keep(name: "phone", of: bob, in: store)
    try history.keep(name: nil, of: carol, in: store)
    #expect(history.names == [bob: "phone"])
    #expect(try PeerHistory(store).names == [bob: "phone"])
    try history.keep(name: nil, of: bob, in: store)
    #expect(try PeerHistory(store).names.isEmpty)
  }

  @Test func `contacts are stored again if an address or more than a minute differs`() throws {
    var history = try PeerHistory(store)
    let first = PeerContact(time: 500_000, address: "192.0.2.1:1")
    let bare = PeerContact(time: 700_000, address: nil)
    try history.keep(contacts: [bob: first, carol: bare], in: store)
    #expect(try PeerHistory(store).seen == [bob: first, carol: bare])
    let rows: [(time: Moment, address: String?, isStored: Bool)] = [
      (560_000, "192.0.2.1:1", false),
      (440_000, "192.0.2.1:1", false),
      (560_001, "192.0.2.1:1", true),
      // The clock was set back, so the stored time is in the future.
      (439_999, "192.0.2.1:1", true),
      (500_000, "[2001:db8::1]:1", true),
      (500_000, nil, true),
    ]
    for row in rows {
      var copy = history
      let contact = PeerContact(time: row.time, address: row.address)
      try copy.keep(contacts: [bob: contact], in: store)
      let expected = [bob: row.isStored ? contact : first, carol: bare]
      #expect(copy.seen == expected, "\(row.time) at \(row.address ?? "-")")
      #expect(try PeerHistory(store).seen == expected, "a contact that is not reported stays")
      // The first contact again, for the next row.
      var again = try PeerHistory(store)
      try again.keep(contacts: [bob: PeerContact(time: 9_999_999, address: nil)], in: store)
      try again.keep(contacts: [bob: first], in: store)
      history = again
    }
  }

  @Test func `the times of beacons are replaced as a whole`() throws {
    var history = try PeerHistory(store)
    try history.keep(beacons: [bob: 5, carol: .max], in: store)
    #expect(history.beacons == [bob: 5, carol: .max])
    #expect(try PeerHistory(store).beacons == [bob: 5, carol: .max])
    // A corrected clock withdraws times, which must not return at the next start.
    try history.keep(beacons: [carol: 3], in: store)
    #expect(try PeerHistory(store).beacons == [carol: 3])
    try history.keep(beacons: [:], in: store)
    #expect(try PeerHistory(store).beacons.isEmpty)
  }

  @Test func `lines that can't be read are skipped`() throws {
    let lines = ["", "x", "\(bob)", "\(bob) x", "zz 5", "\(carol) 5"]
    try store.setMetaLines(MetaKey.peerContacts, lines)
    try store.setMetaLines(MetaKey.beaconTimes, lines + ["\(bob) 5 6"])
    try store.setMetaLines(MetaKey.peerNames, ["\(bob)", "zz name", "\(carol) 5 6"])
    let history = try PeerHistory(store)
    #expect(history.seen == [carol: PeerContact(time: 5, address: nil)])
    #expect(history.beacons == [carol: 5])
    #expect(history.names == [carol: "5 6"])
  }
}
