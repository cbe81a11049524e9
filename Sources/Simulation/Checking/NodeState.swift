// Protocol/session.md, "Hashes"

/// Where a node stands, computed from its store's rows.
struct NodeState: Hashable {
  let certificates: Name32
  /// Settings, records.
  let lanes: [LaneState]

  init(_ view: NodeView, _ library: SetLibrary) {
    let ids = view.statements.keys.sorted().flatMap(\.bytes)
    certificates = PlainSealing.hash("waymark/certificates/v1", ids)
    let heads = view.heads ?? ViewHeads(view, library)
    view.heads = heads
    lanes = (0...1).map {
      LaneState(heads: heads.hash($0), folded: heads.foldedHash($0), digest: view.digests.digest($0))
    }
  }

  /// The one hash of all that two nodes have in common, where the records lane is open or not.
  func hash(withRecords: Bool) -> Name32 {
    var input = certificates.bytes
    for lane in withRecords ? [0, 1] : [0] {
      input.append(UInt8(lane))
      input += lanes[lane].heads.bytes + lanes[lane].folded.bytes + lanes[lane].digest.bytes
    }
    return PlainSealing.hash("waymark/state/v1", input)
  }
}

/// What a node has said of where it stands, and has yet to be compared with its store.
enum SaidState {
  case summary(certificates: Name32, settings: LaneState, records: LaneState)
  case hash(Name32)

  func isTrue(of states: [NodeState]) -> Bool {
    switch self {
    case .summary(let certificates, let settings, let records):
      // Parts may have changed one after the other while the step was under way.
      return states.contains { $0.certificates == certificates }
        && states.contains { $0.lanes[0] == settings } && states.contains { $0.lanes[1] == records }
    case .hash(let hash):
      return states.contains { $0.hash(withRecords: true) == hash || $0.hash(withRecords: false) == hash }
    }
  }
}
