import Sodium
import Wire

@testable import Replication

/// A device of the tests, with a key that is the same in every run.
struct Device: Sendable {
  let signing: SigningKey
  let key: DeviceKey
  let incarnation: Incarnation

  init(_ number: UInt8, incarnationNumber: Int = 1) {
    guard let signing = try? SigningKey(seed: [UInt8](repeating: number, count: 32)),
      let key = DeviceKey(bytes: signing.publicKey)
    else { fatalError("no key for device \(number)") }
    self.signing = signing
    self.key = key
    incarnation = Incarnation(random: Bytes16(UInt64(number), 1), number: incarnationNumber)
  }

  static let alice = Device(1)
  static let bob = Device(2)
  static let carol = Device(3)

  func log(_ lane: Lane = .records) -> LogKey { LogKey(device: key, incarnation: incarnation, lane: lane) }
}

let testCircle = CircleID(Bytes32(0, 0, 0, 0xc0))

func operation(_ number: UInt64) -> OperationID { OperationID(Bytes16(0, number)) }
func recordID(_ number: UInt64) -> RecordID { RecordID(Bytes16(0, number)) }

func kind(_ number: UInt64) -> KindNumber {
  guard let kind = KindNumber(number) else { fatalError("kind \(number) has no range") }
  return kind
}

func key(_ kindNumber: UInt64, _ id: UInt64) -> RecordKey {
  RecordKey(kind: kind(kindNumber), id: recordID(id))
}

func author(
  _ device: Device, _ lane: Lane = .records, sequence: UInt64 = 0, previous: ChangeSetID? = nil,
  clock: Clock = .zero, logBytes: UInt64 = 0, unseen: [Dependency] = [],
  seed: @escaping () -> Bytes16 = countedSeeds()
) -> Author {
  Author(
    position: AuthorPosition(
      circle: testCircle, log: device.log(lane), sequence: sequence, id: previous, clock: clock,
      logBytes: logBytes, unseen: unseen),
    key: device.signing, seed: seed)
}

/// Seeds that are the same in every run: 1, 2, 3, …
func countedSeeds() -> () -> Bytes16 {
  var count: UInt64 = 0
  return {
    count += 1
    return Bytes16(0, count)
  }
}

let anOperation = OperationDraft(id: operation(1), verb: "edit")

extension VerifiedChangeSet {
  /// The same set as from a peer that lacks some of its slots.
  func lacking(_ slots: Set<Int>) throws -> VerifiedChangeSet {
    try VerifiedChangeSet(
      verifying: RawChangeSet(
        header: raw.header, signature: raw.signature, plan: raw.plan, values: values(without: slots)))
  }
}
