// Protocol/session.md, "Hashes"

/// The heads that a node must report, and their hashes, given a view of the node's store.
struct ViewHeads {
  struct Head {
    let log: PlainLog
    let sequence: UInt64
    let id: Name32
    let foldedSequence: UInt64
  }

  /// The heads of each lane, in the order in which they are hashed.
  let heads: [[Head]]
  let hashes: [(heads: Name32, folded: Name32)]

  init(_ view: NodeView, _ library: SetLibrary) {
    var isTip = Array(repeating: true, count: library.sets.count)
    for set in view.numbers { if let previous = library.predecessors[set] { isTip[previous] = false } }
    var found: [[Head]] = [[], []]
    for set in view.numbers where isTip[set] {
      let header = library.sets[set].header
      found[header.log.lane].append(
        Head(
          log: header.log, sequence: header.sequence, id: library.sets[set].id,
          foldedSequence: Self.folded(upTo: set, view, library)))
    }
    heads = found.map { $0.sorted(by: Self.precedes) }
    hashes = heads.map {
      (
        PlainSealing.hash("waymark/heads/v1", Self.bytes($0) { $0.sequence }),
        PlainSealing.hash("waymark/folded-heads/v1", Self.bytes($0) { $0.foldedSequence })
      )
    }
  }

  private static func folded(upTo tip: Int, _ view: NodeView, _ library: SetLibrary) -> UInt64 {
    var next: Int? = tip
    while let set = next {
      if view[set] == .folded { return library.sets[set].header.sequence }
      next = library.predecessors[set]
    }
    return 0
  }

  private static func precedes(_ left: Head, _ right: Head) -> Bool {
    if left.log.device != right.log.device { return left.log.device < right.log.device }
    if left.log.incarnation != right.log.incarnation { return left.log.incarnation < right.log.incarnation }
    return left.sequence == right.sequence ? left.id < right.id : left.sequence < right.sequence
  }

  private static func bytes(_ heads: [Head], _ sequence: (Head) -> UInt64) -> [UInt8] {
    heads.flatMap {
      $0.log.device.bytes + $0.log.incarnation.bytes + plainBigEndian(sequence($0)) + $0.id.bytes
    }
  }
}
