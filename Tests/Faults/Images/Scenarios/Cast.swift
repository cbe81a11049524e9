import Membership
import Records
import Replication
import Sodium
import Storage
import Wire

/// A small circle whose keys and statements are the same in every run.
struct Cast {
  let genesis: Membership.Statement
  let circle: CircleID
  let root = Cast.key("root")
  let issuer = Cast.key("issuer")

  static let horizon = Clock(milliseconds: 1_000_000)

  init() throws {
    genesis = try Membership.Statement(
      signing: Genesis(
        root: DeviceKey(root), device: DeviceKey(Cast.key("alice")), transport: Cast.transport("alice"),
        name: "alice", issuers: [DeviceKey(issuer)], created: 1, nonce: .zero),
      with: root)
    circle = genesis.circle
  }

  static func key(_ name: String) -> SigningKey {
    let seed = Blake2b256.bytes(Blake2b256.hash(Array(name.utf8)))
    guard let key = try? SigningKey(seed: seed) else { preconditionFailure("no key for \(name)") }
    return key
  }

  private static func transport(_ name: String) -> TransportKey {
    let words = Blake2b256.hash(key(name).publicKey)
    return TransportKey(Bytes32(words.0, words.1, words.2, words.3))
  }

  func certificate(_ name: String) throws -> Membership.Statement {
    try Membership.Statement(
      signing: DeviceCertificate(
        circle: circle, issuer: DeviceKey(root), device: DeviceKey(Self.key(name)),
        transport: Self.transport(name), name: name, role: .admin, issued: 2),
      with: root)
  }

  func entitlement(_ serial: UInt64) throws -> Membership.Statement {
    try Membership.Statement(
      signing: Entitlement(
        circle: circle, issuer: DeviceKey(issuer), devices: nil, plan: "premium", issuedAt: 0, notBefore: 0,
        notAfter: 1_000_000, serial: Bytes16(0, serial), source: "test"),
      with: issuer)
  }

  func revocation(of name: String, kept: [KeptLog]) throws -> Membership.Statement {
    try Membership.Statement(
      signing: Revocation(
        circle: circle, issuer: DeviceKey(root), device: DeviceKey(Self.key(name)), kept: kept, valid: [],
        issued: 3),
      with: root)
  }

  func logCut(_ log: LogKey, tip: ChangeSetID?) throws -> Membership.Statement {
    try Membership.Statement(
      signing: LogCut(circle: circle, log: log, tip: tip, issued: 4), with: Self.key("alice"))
  }
}

/// An author: a key and the logs of one incarnation.
struct Writer {
  let circle: CircleID
  let key: SigningKey
  var incarnation: Incarnation

  init(_ name: String, _ cast: Cast, incarnation: UInt64 = 1) {
    circle = cast.circle
    key = Cast.key(name)
    self.incarnation = Incarnation(Bytes16(UInt64(name.utf8.first ?? 0), incarnation))
  }

  func log(_ lane: Lane) -> LogKey { LogKey(device: DeviceKey(key), incarnation: incarnation, lane: lane) }

  /// The sets of one operation, built on a store's content; the time identifies the operation.
  func draft(on store: Store, at wall: Moment, _ drafts: [EntryDraft]) throws -> [VerifiedChangeSet] {
    let operation = OperationDraft(
      id: OperationID(Bytes16(incarnation.raw.word0, UInt64(wall))), verb: "test")
    return try Lane.allCases.flatMap { lane -> [VerifiedChangeSet] in
      let entries = drafts.filter { $0.key.kind.lane == lane }
      guard !entries.isEmpty else { return [] }
      var author = Author(
        position: try store.authorPosition(circle: circle, log: log(lane)), key: key, seed: { Bytes16(5, 5) })
      return try author.write(entries, operation: operation, wall: wall)
    }
  }
}

// MARK: Records

func id(_ number: UInt64) -> RecordID { RecordID(Bytes16(number << 56, number)) }
func trip(_ number: UInt64) -> RecordKey { RecordKey(kind: KindNumbers.trip, id: id(number)) }
func lodging(_ number: UInt64) -> RecordKey { RecordKey(kind: KindNumbers.lodging, id: id(number)) }
func setting(_ number: UInt64) -> RecordKey { RecordKey(kind: KindNumbers.setting, id: id(number)) }

func insert(_ key: RecordKey, _ fields: [FieldNumber: Value]) -> EntryDraft {
  EntryDraft(.insert, key, fields.map { ($0.key, $0.value) })
}

func edit(_ key: RecordKey, _ fields: [FieldNumber: Value]) -> EntryDraft {
  EntryDraft(.put, key, fields.map { ($0.key, $0.value) })
}

func delete(_ key: RecordKey) -> EntryDraft { EntryDraft(.delete, key) }
func restore(_ key: RecordKey) -> EntryDraft { EntryDraft(.restore, key) }

func lodging(_ number: UInt64, of parent: RecordKey) -> EntryDraft {
  insert(lodging(number), [1: .bytes(parent.id.bytes), 2: .text("Casa \(number)")])
}
