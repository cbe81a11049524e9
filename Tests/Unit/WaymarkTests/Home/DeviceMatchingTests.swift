import Enrolment
import Home
import LogStorage
import Membership
import Reasons
import Sodium
import Testing
import Wire

/// Which device a word on the command line means, and how damaged sets of devices are listed.
@Suite struct DeviceMatchingTests {
  private let own: DeviceKey
  private let keys: [String: DeviceKey]
  private let circle: Circle

  init() throws {
    let laptop = try CircleCreation(name: "laptop", now: 1)
    var circle = try Circle(genesis: laptop.genesis)
    var keys: [String: DeviceKey] = [:]
    for (number, name) in ["phone", "phone 7", "Photo frame"].enumerated() {
      let key = DeviceKey(try SigningKey())
      let certificate = DeviceCertificate(
        circle: circle.id, issuer: DeviceKey(laptop.root), device: key,
        transport: TransportKey(Bytes32(9, 9, 9, UInt64(number))), name: name, role: .member, issued: 2)
      circle.insert([try Statement(signing: certificate, with: laptop.root)])
      keys[name] = key
    }
    (own, self.keys, self.circle) = (laptop.identity.device, keys, circle)
  }

  private func names(_ given: [String: String] = [:]) throws -> DeviceNames {
    var local: [DeviceKey: String] = [:]
    for (name, other) in given { local[try #require(keys[name])] = other }
    return DeviceNames(given: local, circle: circle)
  }

  private func found(_ text: String, _ given: [String: String] = [:]) throws -> [String] {
    try names(given).peers(matching: text, besides: own).map(\.name)
  }

  @Test func `a whole name means one device, the beginning of a name all that begin like it`() throws {
    #expect(try found("phone") == ["phone"])
    #expect(try found("phone ") == ["phone 7"])
    #expect(try found("PHO") == ["Photo frame", "phone", "phone 7"])
    #expect(try found("hone") == [] && found("") == [])
    // A device is not its own peer.
    #expect(try found("laptop") == [] && found(own.description) == [])
    let phone = try #require(keys["phone"])
    #expect(try found(phone.description.uppercased()) == ["phone"])
    #expect(try found(String(phone.description.prefix(20)).uppercased()) == ["phone"])
    // Both the local name and that in the circle lead to it.
    for text in ["work", "Wo", "phone"] {
      #expect(try found(text, ["phone": "work"]) == ["phone"], "\(text)")
    }
    for (text, reason) in [("pho", Reason.ambiguous), ("none", .notFound), ("laptop", .notFound)] {
      let error = #expect(throws: WaymarkError.self) { try names().peer(named: text, besides: own) }
      #expect(error?.reason == reason, "\(text)")
    }
  }

  @Test func `a local name must differ from all names of the other devices, and may be that of its own`()
    throws
  {
    let phone = try #require(keys["phone"])
    let peer = try #require(circle.evaluation.members[phone])
    let names = try names(["phone": "work", "phone 7": "play"])
    #expect(try names.checked("", for: peer) == nil && names.checked("phone", for: peer) == nil)
    #expect(try names.checked("work", for: peer) == "work")
    let longest = String(repeating: "n", count: Limits.nameBytesMax)
    #expect(try names.checked(longest, for: peer) == longest)
    for name in ["play", "phone 7", "Play", "laptop", longest + "n", "a\nb"] {
      let error = #expect(throws: WaymarkError.self) { try names.checked(name, for: peer) }
      #expect(error?.reason == .badValue, "\(name)")
    }
  }

  @Test func `damaged sets are listed up to three, with the number of the others`() throws {
    let names = try names(["phone": "work"])
    let phone = try #require(keys["phone"])
    let frame = try #require(keys["Photo frame"])
    let sets = (1...5).map { (number: UInt64) -> DamagedSet in
      let log = LogKey(
        device: number == 2 ? frame : phone, incarnation: Incarnation(Bytes16(1, 2)),
        lane: number == 2 ? .settings : .records)
      return DamagedSet(id: ChangeSetID(Bytes32(0, 0, 0, number)), log: log, sequence: number)
    }
    let three = "records 1 of work, settings 2 of Photo frame, records 3 of work"
    #expect(names.list(Array(sets.prefix(1))) == "records 1 of work")
    #expect(names.list(Array(sets.prefix(3))) == three)
    #expect(names.list(Array(sets.prefix(4))) == three + " and 1 more")
    #expect(names.list(sets) == three + " and 2 more")
  }

  @Test func `a statement of the root key is not said to be of a device`() throws {
    #expect(try names().signer(circle.genesis.root) == "the root key")
    let phone = try #require(keys["phone"])
    #expect(try names(["phone": "work"]).signer(phone) == "work")
    let stranger = DeviceKey(try SigningKey())
    #expect(try names().signer(stranger) == String(stranger.description.prefix(8)))
  }
}
