import Foundation
import Membership
import Sodium
import Testing
import Wire

/// Protocol/vectors/beacons.json.
struct BeaconVectors: Decodable, Sendable {
  struct Keys: Decodable, Sendable {
    var seed, transportSecret: String
  }

  struct SealedRow: Decodable, Sendable, CustomTestStringConvertible {
    var name, host, nonce, secret, bytes: String
    var receivers: [String]
    var time: Int64
    var port: UInt16
    var testDescription: String { name }
  }

  struct BeaconRow: Decodable, Sendable, CustomTestStringConvertible {
    var name, bytes: String
    var opens: Bool
    var sender, host: String?
    var time: Int64?
    var port: UInt16?
    var testDescription: String { name }
  }

  struct RecordRow: Decodable, Sendable, CustomTestStringConvertible {
    var name, record: String
    var beacon: String?
    var testDescription: String { name }
  }

  var circle, receiver: String
  var devices: [String: Keys]
  var sealed: [SealedRow]
  var beacons: [BeaconRow]
  var records: [RecordRow]

  static let all: BeaconVectors = {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let file = folder.appending(path: "../../Protocol/vectors/beacons.json")
    do {
      return try JSONDecoder().decode(BeaconVectors.self, from: Data(contentsOf: file))
    } catch {
      fatalError("Protocol/vectors/beacons.json can't be read: \(error)")
    }
  }()

  func signing(_ name: String) throws -> SigningKey { try SigningKey(seed: unhex(devices[name]?.seed)) }

  func transport(_ name: String) throws -> AgreementKey {
    try AgreementKey(secret: unhex(devices[name]?.transportSecret))
  }

  func device(_ name: String) throws -> DeviceKey { DeviceKey(try signing(name)) }

  /// The keys of one device, with the given members or all.
  func keys(of name: String, members: [String]? = nil) throws -> BeaconKeys {
    var keys = BeaconKeys(
      circle: CircleID(try #require(Bytes32(unhex(circle)))), transport: try transport(name))
    keys.update(
      try (members ?? Array(devices.keys)).map {
        (try device($0), TransportKey(try #require(Bytes32(transport($0).publicKey))))
      })
    return keys
  }
}

struct BeaconTests {
  static let vectors = BeaconVectors.all

  @Test(arguments: vectors.sealed) func `a beacon is encoded byte for byte`(row: BeaconVectors.SealedRow)
    throws
  {
    let beacon = Beacon(time: row.time, host: try #require(Bytes16(unhex(row.host))), port: row.port)
    let bytes = try Self.vectors.keys(of: "alice").seal(
      beacon, to: Set(try row.receivers.map { try Self.vectors.device($0) }),
      by: Self.vectors.signing("alice"),
      nonce: try #require(Bytes16(unhex(row.nonce))), secret: try #require(Bytes16(unhex(row.secret))))
    #expect(bytes == unhex(row.bytes))
  }

  @Test(arguments: vectors.records) func `a service carries a beacon in pieces`(row: BeaconVectors.RecordRow)
  {
    #expect(BeaconRecord.beacon(in: unhex(row.record)) == row.beacon.map { unhex($0) })
  }

  @Test(arguments: vectors.records.prefix(2)) func `a record is encoded byte for byte`(
    row: BeaconVectors.RecordRow
  ) {
    #expect(BeaconRecord.encoded(unhex(row.beacon)) == unhex(row.record))
  }

  @Test(arguments: [(0, "0000000000000000"), (0xabc, "0000000000000abc"), (UInt64.max, "ffffffffffffffff")])
  func `the name of a service has 16 digits`(random: UInt64, name: String) {
    #expect(BeaconRecord.name(random: random) == name)
  }

  @Test(arguments: vectors.beacons) func `valid beacons open and invalid ones do not`(
    row: BeaconVectors.BeaconRow
  ) throws {
    let found = try Self.vectors.keys(of: Self.vectors.receiver).open(unhex(row.bytes))
    #expect((found != nil) == row.opens)
    guard let found else { return }
    #expect(found.sender == (try Self.vectors.device(try #require(row.sender))))
    #expect(found.beacon.time == row.time)
    #expect(found.beacon.host.bytes == unhex(row.host))
    #expect(found.beacon.port == row.port)
  }

  @Test func `no byte of a beacon can be changed undetected`() throws {
    let keys = try Self.vectors.keys(of: "bob")
    let bytes = unhex(Self.vectors.beacons[0].bytes)
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 1
      #expect(keys.open(changed) == nil, "byte \(index)")
    }
  }

  @Test func `only the intended members can open a beacon, and no former member`() throws {
    let bytes = unhex(Self.vectors.beacons[0].bytes)
    for name in Self.vectors.devices.keys where name != "bob" {
      #expect(try Self.vectors.keys(of: name).open(bytes) == nil, "\(name)")
    }
    #expect(try Self.vectors.keys(of: "bob", members: ["bob", "carol"]).open(bytes) == nil)
    let sealed = try Self.vectors.keys(of: "alice", members: ["carol"]).seal(
      Beacon(time: 1, host: .zero, port: 1), to: [try Self.vectors.device("bob")],
      by: Self.vectors.signing("alice"), nonce: Bytes16(1, 1), secret: Bytes16(2, 2))
    #expect(try Self.vectors.keys(of: "bob").open(sealed) == nil)
  }

  @Test func `two beacons of one device look unrelated to a stranger`() throws {
    let keys = try Self.vectors.keys(of: "alice")
    let signing = try Self.vectors.signing("alice")
    let everyone = [
      signing.publicKey, try Self.vectors.transport("alice").publicKey, unhex(Self.vectors.circle),
    ]
    var runs: Set<[UInt8]> = []
    for number in 1...200 {
      let bytes = keys.seal(
        Beacon(time: 5, host: Bytes16(1, 2), port: 7_433),
        to: [try Self.vectors.device("bob"), try Self.vectors.device("carol")], by: signing,
        nonce: Bytes16(7, UInt64(number)), secret: Bytes16(9, UInt64(number)))
      #expect(bytes.count == 217)
      // After version and nonce, no four bytes at one position are ever equal, nor any of the secret values.
      for start in stride(from: 17, to: bytes.count - 4, by: 4) {
        let run = [UInt8(start)] + bytes[start..<(start + 4)]
        #expect(runs.insert(run).inserted || number < 2)
      }
      for secret in everyone {
        for start in bytes.indices.dropLast(8) {
          #expect(Array(bytes[start..<(start + 8)]) != Array(secret.prefix(8)))
        }
      }
    }
  }

  @Test(arguments: [(0, 217), (1, 217), (4, 217), (5, 313), (8, 313), (9, 505), (16, 505)])
  func `the length reveals the number of missing devices only roughly`(count: Int, bytes: Int) throws {
    let receivers = Set(try (0..<count).map { try Self.vectors.device("device \($0)") })
    let sealed = try Self.vectors.keys(of: "alice").seal(
      Beacon(time: 1, host: .zero, port: 1), to: receivers, by: Self.vectors.signing("alice"),
      nonce: Bytes16(1, 1), secret: Bytes16(2, 2))
    #expect(sealed.count == bytes)
  }

  @Test func `a transport key that makes every secret zero is left out`() throws {
    var keys = try Self.vectors.keys(of: "bob")
    keys.update([(try Self.vectors.device("alice"), TransportKey(.zero))])
    #expect(keys.open(unhex(Self.vectors.beacons[0].bytes)) == nil)
  }
}
