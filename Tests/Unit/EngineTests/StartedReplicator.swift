import Families
import Membership
import Replication
import Shells
import Storage
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
