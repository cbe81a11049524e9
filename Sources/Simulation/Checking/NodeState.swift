// Protocol/session.md, "Hashes"

/// The state of a node that its peers compare with theirs, computed from the rows of the node's store.
struct NodeState: Hashable {
  let certificates: Name32
  /// The states of settings and records, in this order.
  let lanes: [LaneState]

  init(certificates: Name32, lanes: [LaneState]) {
    self.certificates = certificates
    self.lanes = lanes
  }

  init(_ view: NodeView, _ library: SetLibrary) {
    certificates = view.certificates
    let heads = view.heads ?? ViewHeads(view, library)
    view.heads = heads
    lanes = (0...1).map {
      LaneState(
        heads: heads.hashes[$0].heads, folded: heads.hashes[$0].folded, digest: view.digests.totals[$0])
    }
  }

  /// Returns the hash of a collection of statements, which includes only the newest address statement of each device,
  /// and no branch proofs and purchases that are replaced.
  static func certificates(_ statements: some Sequence<PlainStatement>) -> Name32 {
    var ids: [Name32] = []
    var addresses: [Name32: (clock: UInt64, id: Name32)] = [:]
    let replaced = PlainStatement.replaced(statements)
    for statement in statements where !replaced.contains(statement.id) {
      guard case .addresses(let clock) = statement.body else {
        ids.append(statement.id)
        continue
      }
      if let newest = addresses[statement.signer], newest > (clock, statement.id) { continue }
      addresses[statement.signer] = (clock, statement.id)
    }
    ids += addresses.values.map(\.id)
    return PlainSealing.hash("waymark/certificates/v1", ids.sorted().flatMap(\.bytes))
  }

  /// Returns the hash of everything that two nodes must have in common. The records lane counts only if it is open.
  func hash(withRecords: Bool) -> Name32 { hash(open: withRecords ? [0, 1] : [0]) }

  /// The hash for a node that believes it is not a member and therefore has no open lane.
  var hashOfOutsider: Name32 { hash(open: []) }

  private func hash(open: [Int]) -> Name32 {
    var input = certificates.bytes
    for lane in open {
      input.append(UInt8(lane))
      input += lanes[lane].heads.bytes + lanes[lane].folded.bytes + lanes[lane].digest.bytes
    }
    return PlainSealing.hash("waymark/state/v1", input)
  }
}

/// What a node has said about its state, to be compared with its store.
enum SaidState {
  case summary(certificates: Name32, settings: LaneState, records: LaneState)
  /// One of several hashes, if it is unknown which of them the node confirmed.
  case oneOf(Set<Name32>)

  /// The state hashes that the node may have meant.
  var hashes: Set<Name32> {
    switch self {
    case .oneOf(let hashes): hashes
    case .summary(let certificates, let settings, let records):
      Set(
        [true, false].map {
          NodeState(certificates: certificates, lanes: [settings, records]).hash(withRecords: $0)
        })
    }
  }

  /// Returns the name of a part of the state that does not match what the node said; nil if everything matches.
  ///
  /// - Parameters:
  ///   - certificates: the hash of the node's statements at that moment.
  ///   - states: the node's states before, during and after the step in which it said this. The two lanes may have
  ///     changed one after the other.
  ///   - isOutside: whether the node may believe that it is not a member.
  func lie(certificates: Name32, _ states: [NodeState], isOutside: Bool) -> String? {
    switch self {
    case .summary(let said, let settings, let records):
      if said != certificates { return "statements" }
      for (lane, said) in [settings, records].enumerated() {
        let lanes = states.map { $0.lanes[lane] }
        if lanes.contains(said) { continue }
        return ["settings", "records"][lane] + said.differences(to: lanes)
      }
      return nil
    case .oneOf(let hashes):
      let outsider = NodeState(certificates: certificates, lanes: []).hashOfOutsider
      if isOutside, hashes.contains(outsider) { return nil }
      for one in states {
        for other in states {
          let state = NodeState(certificates: certificates, lanes: [one.lanes[0], other.lanes[1]])
          if [true, false].contains(where: { hashes.contains(state.hash(withRecords: $0)) }) { return nil }
        }
      }
      return "state"
    }
  }
}

extension LaneState {
  /// Describes the parts that differ from those of all other states, for debugging.
  fileprivate func differences(to others: [LaneState]) -> String {
    let parts: [(String, KeyPath<LaneState, Name32>)] = [
      ("heads", \.heads), ("folded heads", \.folded), ("digest", \.digest),
    ]
    let unlike = parts.filter { part in !others.contains { $0[keyPath: part.1] == self[keyPath: part.1] } }
    return unlike.isEmpty ? " (never all at once)" : " (\(unlike.map(\.0).joined(separator: ", ")))"
  }
}
