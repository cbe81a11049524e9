import Families
import FileFormat
import Membership
import Records
import Replication
import Shells
import Storage
import Testing
import Wire

@testable import Engine

/// Returns the replicator of Alice, who has founded a circle with these members, over a new store, after its start.
func startedAlice(
  in family: Family, with members: [String], _ shell: any QuietShell, at now: Now
) throws -> (Store, Replicator) {
  let store = try Store.inMemory()
  let statements = try [family.genesis] + members.map { try family.certificate(for: $0) }
  try store.saveStatements(statements.map { ($0.id, $0.bytes) })
  try store.setMeta(MetaKey.incarnation, Bytes16(1, 1).bytes)
  let replicator = try Replicator(
    store: store, circle: try Circle(store: store), signing: Family.key("alice"), preference: false,
    localPremium: .none, place: AnyIncarnation(), now: Family.start, seed: 1, random16: { Bytes16(4, 4) })
  replicator.shell = shell
  replicator.handle(.started, now: now)
  return (store, replicator)
}

/// Attaches a file to a trip on a device that then keeps only files that are asked for; returns the file.
func attachedFile(in store: Store, _ replicator: Replicator, at now: Now) throws -> FileReference {
  let value = try store.keep([UInt8](repeating: 7, count: 100_000))
  let file = try #require(FileReference(value))
  let trip = RecordKey(kind: KindNumbers.trip, id: RecordID(Bytes16(1, 1)))
  let attachment = RecordKey(kind: KindNumbers.attachment, id: RecordID(Bytes16(1, 2)))
  let owner = Value.array([.integer(Int64(trip.kind.rawValue)), .bytes(trip.id.bytes)])
  try replicator.write(
    OperationDraft(id: OperationID(Bytes16(9, 1)), verb: "test"),
    [
      EntryDraft(.insert, trip, [(1, .text("Rome"))]),
      EntryDraft(.insert, attachment, [(1, owner), (Kind.attachment.number("fileData"), value)]),
    ], now: now)
  try store.noteUsed(file, now: now.wall)
  try replicator.setKeepPolicy(.onDemand, now: now)
  return file
}
