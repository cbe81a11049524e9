import Enrolment
import Home
import Membership
import Reasons
import Sodium
import Testing
import Wire

@Suite struct `The names of devices` {
  private let root: SigningKey
  private let alice: SigningKey
  private let others: [SigningKey]
  private var circle: Circle

  /// A circle of Alice's laptop and devices with these names.
  private init(_ names: [String]) throws {
    (root, alice) = (try SigningKey(), try SigningKey())
    let root = root
    let genesis = try Statement(
      signing: Genesis(
        root: DeviceKey(root), device: DeviceKey(alice), transport: Self.transport(1), name: "laptop",
        issuers: [], created: 1, nonce: .zero), with: root)
    circle = try Circle(genesis: genesis)
    others = try names.map { _ in try SigningKey() }
    let id = circle.id
    circle.insert(
      try names.enumerated().map { number, name in
        try Statement(
          signing: DeviceCertificate(
            circle: id, issuer: DeviceKey(root), device: DeviceKey(others[number]),
            transport: Self.transport(UInt64(number) + 2), name: name, role: .member, issued: 2), with: root)
      })
  }

  init() throws { try self.init([]) }

  private static func transport(_ number: UInt64) -> TransportKey { TransportKey(Bytes32(9, 9, 9, number)) }

  private func shown(_ given: [DeviceKey: String] = [:]) -> [String] {
    let names = DeviceNames(given: given, circle: circle)
    return others.map { names.name(of: DeviceKey($0)) }
  }

  private func id(_ number: Int) -> String { String(DeviceKey(others[number]).description.prefix(8)) }

  @Test func `names that look alike are shown with the beginning of the id`() throws {
    let test = try Self(["phone", "рhоnе", "tablet"])
    #expect(test.shown() == ["phone (\(test.id(0)))", "рhоnе (\(test.id(1)))", "tablet"])
    #expect(try Self(["phone", "phone 2"]).shown() == ["phone", "phone 2"])
  }

  @Test func `a local name tells devices apart, and can't look like another one`() throws {
    let test = try Self(["phone", "Phone", "tablet"])
    let first = DeviceKey(test.others[0])
    #expect(test.shown([first: "work"]) == ["work", "Phone", "tablet"])
    let names = DeviceNames(given: [:], circle: test.circle)
    let member = try #require(test.circle.evaluation.members[first])
    for name in ["Tablet", "tаblet", "laptop", "a\u{200B}b", "-a", " "] {
      #expect(throws: WaymarkError.self) { try names.checked(name, for: member) }
    }
    #expect(try names.checked("work", for: member) == "work")
  }

  @Test func `a device is found by the name under which it is shown`() throws {
    let test = try Self(["phone", "phone"])
    let names = DeviceNames(given: [:], circle: test.circle)
    let found = try names.peer(named: test.shown()[1], besides: DeviceKey(test.alice))
    #expect(found.device == DeviceKey(test.others[1]))
    #expect(throws: WaymarkError.self) { try names.peer(named: "phone", besides: DeviceKey(test.alice)) }
  }

  @Test func `a revoked device whose name was given again is told apart`() throws {
    let test = try Self(["phone", "phone"])
    var circle = test.circle
    circle.insert([
      try Statement(
        signing: Revocation(
          circle: circle.id, issuer: DeviceKey(test.root), device: DeviceKey(test.others[0]), kept: [],
          valid: [], issued: 3), with: test.root)
    ])
    let names = DeviceNames(given: [:], circle: circle)
    #expect(names.name(of: DeviceKey(test.others[0])) == "phone (\(test.id(0)))")
    #expect(names.name(of: DeviceKey(test.others[1])) == "phone")
  }
}
