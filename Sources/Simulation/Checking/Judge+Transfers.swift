// Protocol/session.md, "Hashes"

extension Judge {
  /// Records an intermediate state of a node. A store may change more than once within a step, and the node may send
  /// its state in between. Invalid sets are reported only at the end of the step.
  package func passed(_ node: String) throws {
    guard let view = views[node], let ledger = ledgers[node] else { return }
    let snapshot = NodeView(node, device: view.device, connection: view.connection)
    for row in try StoreReader.logRows(after: 0, view.connection) {
      // An invalid set is reported at the end of the step.
      guard let (set, missing) = try? library.add(row.raw) else { return }
      snapshot.append(set, row.folded == 1 ? .folded : row.folded == 2 ? .held : .waits, lacking: missing)
      // Peers may be told about a set that a rebuild removes later in the step.
      everHeld[view.device, default: []].insert(set)
    }
    let heads = ViewHeads(snapshot, library)
    let sums = try StoreReader.digests(view.connection)
    ledger.passed.append(
      (0...1).map {
        LaneState(
          heads: heads.hashes[$0].heads, folded: heads.hashes[$0].folded, digest: sums[$0].reduce(.zero, &+))
      })
  }
}
