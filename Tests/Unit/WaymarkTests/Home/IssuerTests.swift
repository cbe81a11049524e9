import Foundation
import Membership
import Sodium
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Home
@testable import Waymark

/// The files of an issuer: its keys, and the entitlements that it signs.
struct IssuerTests {
  private let folder: Folder
  private let key: String
  private let circle = CircleID(Bytes32(1, 2, 3, 4))

  init() throws {
    folder = try Folder()
    key = folder.file("issuer")
  }

  private func request(
    devices: [String] = [], until: String, from: String? = nil
  ) -> Issuer.EntitlementRequest {
    Issuer.EntitlementRequest(
      keyFile: key, circle: circle.description, devices: devices, until: until, from: from)
  }

  private func entitlement(_ request: Issuer.EntitlementRequest) throws -> Entitlement {
    let issued = try Issuer.issue(request, now: TestNode.morning)
    let statement = try Issuer.certificate(in: Array(issued.text.utf8), of: "the text")
    guard case .entitlement(let body) = statement.content else {
      Issue.record("another statement was issued: \(statement.content)")
      throw CancellationError()
    }
    #expect(issued.circle == circle && issued.notAfter == body.notAfter)
    return body
  }

  // MARK: Entitlements

  @Test func `an entitlement is for the circle, the devices and the period of the request`() throws {
    let issuer = try Issuer.create(key)
    let (bob, carol) = (DeviceKey(Bytes32(9, 1, 1, 1)), DeviceKey(Bytes32(8, 1, 1, 1)))
    let named = try entitlement(
      request(
        devices: [bob, carol, bob].map(\.description), until: "2026-06-01",
        from: "2026-05-10T12:00:00+02:00"))
    #expect(named.circle == circle && named.issuer == issuer && named.devices == [carol, bob])
    // 10 May 2026, 10:00 UTC, and the end of 1 June.
    #expect(named.notBefore == TestNode.morning + 7 * 86_400_000 + 2 * 3_600_000)
    #expect(named.notAfter == TestNode.morning + 30 * 86_400_000 - 8 * 3_600_000)
    #expect(named.issuedAt == TestNode.morning && named.plan == "premium")
    // Without devices it is for all of the circle, and without a start it begins now.
    let all = try entitlement(request(until: "2026-05-03T08:00:01Z"))
    #expect(all.devices == nil && all.notBefore == TestNode.morning)
    #expect(all.notAfter == TestNode.morning + 1_000)
    #expect(all.serial != named.serial, "each can be withdrawn by itself")
  }

  @Test(
    arguments: [
      ("2026-05-03T08:00:00Z", nil), ("2026-05-02", nil), ("2026-06-01", "2026-06-02"),
      ("2026-06-01T12:00:00", nil), ("tomorrow", nil), ("", nil), ("1969-12-31", nil),
      ("2026-06-01", "1969-12-31T23:59:59Z"), ("2026-06-01", "soon"), ("2026-13-01", nil),
    ] as [(String, String?)])
  func `a period that has no moment, or times without an offset, are refused`(
    until: String, from: String?
  ) throws {
    _ = try Issuer.create(key)
    let found = code { _ = try Issuer.issue(request(until: until, from: from), now: TestNode.morning) }
    #expect(found == .badValue)
  }

  @Test func `the last day of a period is a whole day, also if it is today`() throws {
    _ = try Issuer.create(key)
    let today = try entitlement(request(until: "2026-05-03"))
    #expect(today.notAfter == TestNode.morning + 16 * 3_600_000)
    let single = try entitlement(request(until: "2026-06-01", from: "2026-06-01"))
    #expect(single.notAfter - single.notBefore == 86_400_000)
  }

  @Test func `a circle and devices are named by all of their digits`() throws {
    _ = try Issuer.create(key)
    for device in ["", "bob", String(circle.description.dropLast()), circle.description + "0"] {
      let found = code {
        _ = try Issuer.issue(request(devices: [device], until: "2026-06-01"), now: TestNode.morning)
      }
      #expect(found == .badValue, "\(device)")
      var other = request(until: "2026-06-01")
      other.circle = device
      let named = other
      #expect(code { _ = try Issuer.issue(named, now: TestNode.morning) } == .badValue, "\(device)")
    }
  }

  @Test func `the text of an entitlement is read as it was written, and nothing else is one`() throws {
    _ = try Issuer.create(key)
    let text = try Issuer.issue(request(until: "2026-06-01"), now: TestNode.morning).text
    #expect(text.hasPrefix("waymark-entitlement-1 ") && text.hasSuffix("\n"))
    func read(_ text: String) throws -> Statement {
      try Issuer.certificate(in: Array(text.utf8), of: "the text")
    }
    let statement = try read(text)
    let spaced = text.replacing(" ", with: "\r\n")
    #expect(try read("\n \(spaced)\n").bytes == statement.bytes)
    let file = try folder.write(Array(text.utf8), "certificate")
    #expect(try Issuer.readCertificate(file).bytes == statement.bytes)
    let encoded = text.dropFirst("waymark-entitlement-1 ".count).dropLast()
    for other in [
      "", "waymark-entitlement-1", String(encoded), "waymark-entitlement-2 \(encoded)", text + "more",
      "waymark-entitlement-1 \(encoded.dropLast(4))", "waymark-entitlement-1 AAAA",
      "waymark-entitlement-1 *\(encoded)", text + String(repeating: " ", count: 64 * 1024),
    ] {
      #expect(code { _ = try read(other) } == .noCertificate, "\(other.prefix(40))")
    }
  }

  // MARK: Keys

  @Test func `a new issuer has a key of its owner and a public key for everybody`() throws {
    let issuer = try Issuer.create(key)
    #expect(folder.names == ["issuer", "issuer.pub"])
    #expect(mode(key) == 0o600 && mode(key + ".pub") == 0o644)
    #expect(try Issuer.readPublicKey(key + ".pub") == issuer)
    #expect(try DeviceKey(Issuer.signingKey(key, giving())) == issuer)
  }

  @Test func `no key is made where one of its files exists, and a directory is no key`() throws {
    let pub = try folder.write(Array("mine".utf8), "issuer.pub")
    #expect(code { _ = try Issuer.create(key) } == .exists)
    #expect(try folder.names == ["issuer.pub"] && bytes(pub) == Array("mine".utf8))
    try FileManager.default.removeItem(atPath: pub)
    symlink(folder.file("nowhere"), key + ".pub")
    #expect(code { _ = try Issuer.create(key) } == .exists, "a link that leads nowhere")
    #expect(folder.names == ["issuer.pub"])
    #expect(code { _ = try Issuer.create(folder.path) } == .file)
  }

  @Test func `the public key, another kind of key and a missing file do not sign`() throws {
    _ = try Issuer.create(key)
    #expect(code { _ = try Issuer.signingKey(key + ".pub", giving()) } == .key)
    #expect(code { _ = try Issuer.signingKey(folder.file("none"), giving()) } == .key)
    let root = folder.file("root.key")
    try KeyFile.create(try secret(.root), .root, at: root)
    #expect(code { _ = try Issuer.signingKey(root, giving()) } == .keyDamaged)
  }

  @Test func `a file without a valid public key is not trusted`() throws {
    let issuer = try Issuer.create(key)
    let identity = "01" + String(repeating: "0", count: 62)
    for text in [
      "", "waymark-issuer-1", issuer.description, "waymark-issuer-2 \(issuer)",
      "waymark-issuer-1 \(issuer) more", "waymark-issuer-1 \(identity)",
      "waymark-issuer-1 \(issuer.description.dropLast())",
    ] {
      let file = try folder.write(Array(text.utf8), "other.pub")
      #expect(code { _ = try Issuer.readPublicKey(file) } == .key, "\(text)")
    }
    #expect(code { _ = try Issuer.readPublicKey(key) } == .key)
  }
}
