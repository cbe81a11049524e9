// Protocol/circle.md, "Branch proof".

package import Wire

/// The proof that one device wrote more than `Limits.branchesMax` branches of one tree, and the line at which the proof
/// ends that tree.
package struct BranchProof: Hashable, Sendable {
  /// A signed header.
  package typealias Signed = (header: [UInt8], signature: [UInt8])

  package let circle: CircleID
  package let tree: LogTree
  /// The sequence before the lowest proven fork. Sets of the tree with a greater sequence don't fold.
  package let line: UInt64
  let headers: [[UInt8]]

  init(_ map: inout MapReader) throws(WireError) {
    let circle = CircleID(try map.bytes32(1))
    try map.required(3)
    let start = map.reader.offset
    let count = try map.reader.array(max: Limits.branchProofHeadersMax)
    var headers: [[UInt8]] = []
    var places: [SetHeader] = []
    for _ in 0..<count {
      let bytes = try map.reader.byteString(max: Limits.setBytesMax)
      headers.append(bytes)
      places.append(try SetHeader(bytes))
    }
    guard let first = places.first, places.allSatisfy({ $0.circle == circle && $0.tree == first.tree }),
      zip(places, places.dropFirst()).allSatisfy({ ($0.place.sequence, $0.id) < ($1.place.sequence, $1.id) }),
      Self.proves(places.map(\.fork))
    else { throw .unexpected(offset: start) }
    self.circle = circle
    tree = first.tree
    line = first.place.sequence - 1
    self.headers = headers
  }

  /// Whether the positions of headers show exactly one branch more than allowed, and no header is superfluous.
  private static func proves(_ forks: [Fork]) -> Bool {
    let groups = Dictionary(forks.map { ($0, 1) }, uniquingKeysWith: +)
    return groups.values.allSatisfy { $0 >= 2 } && forks.count - groups.count == Limits.branchesMax
  }

  /// Builds the statement from signed headers of one tree, in any order. They may show more branches than necessary.
  ///
  /// The result names the highest line that leaves no more than `Limits.branchesMax` of the given branches. Throws if
  /// the headers don't show more branches than that.
  package static func statement(circle: CircleID, _ headers: [Signed]) throws(StatementError) -> Statement {
    let chosen: [(SetHeader, Signed)]
    do {
      var read: [(SetHeader, Signed)] = []
      for signed in headers { read.append((try SetHeader(signed.header), signed)) }
      chosen = Self.chosen(read)
    } catch {
      throw .malformed(error)
    }
    var writer = CBORWriter()
    writer.map(3)
    writer.pair(0, MapReader.version)
    writer.pair(1, circle.raw)
    writer.unsigned(3)
    writer.array(chosen.count)
    for (_, signed) in chosen { writer.byteString(signed.header) }
    return try Statement(
      Envelope.encode(
        kind: StatementKind.branchProof.rawValue, body: writer.bytes,
        signature: chosen.flatMap { $0.1.signature }))
  }

  /// Chooses the headers that prove one branch too many.
  ///
  /// Every fork counts one branch less than its headers. The line is drawn below a fork such that the forks below the
  /// line leave at most the permitted branches, and those above the line suffice as a proof.
  private static func chosen(_ headers: [(SetHeader, Signed)]) -> [(SetHeader, Signed)] {
    let distinct = Dictionary(headers.map { ($0.0.id, $0) }, uniquingKeysWith: { one, _ in one })
    let groups = Dictionary(grouping: distinct.values, by: \.0.fork).values.filter { $0.count >= 2 }
      .map { $0.sorted { Self.precedes($0, $1) } }
      .sorted { ($0[0].0.place.sequence, $0[0].0.id) < ($1[0].0.place.sequence, $1[0].0.id) }
    var above = groups.reduce(0) { $0 + $1.count - 1 }
    var below = 0
    var first = 0
    for (index, group) in groups.enumerated() {
      let isLowest = index == 0 || groups[index - 1][0].0.place.sequence < group[0].0.place.sequence
      if isLowest, below < Limits.branchesMax, above >= Limits.branchesMax { first = index }
      below += group.count - 1
      above -= group.count - 1
    }
    var chosen: [(SetHeader, Signed)] = []
    var room = Limits.branchesMax
    for group in groups[first...] where room > 0 {
      let taken = group.prefix(room + 1)
      chosen += taken
      room -= taken.count - 1
    }
    return chosen.sorted { ($0.0.place.sequence, $0.0.id) < ($1.0.place.sequence, $1.0.id) }
  }

  /// Short headers are preferred, so that the proof is small.
  private static func precedes(_ left: (SetHeader, Signed), _ right: (SetHeader, Signed)) -> Bool {
    (left.1.header.count, left.0.id) < (right.1.header.count, right.0.id)
  }

  /// Whether the parts of 64 bytes are the device's signatures of the headers.
  func isSigned(by signatures: [UInt8]) -> Bool {
    guard signatures.count == 64 * headers.count else { return false }
    return headers.enumerated().allSatisfy { index, header in
      tree.device.hasSigned(header, .changeSetSignature, Array(signatures[64 * index..<64 * (index + 1)]))
    }
  }
}

/// What the children of one set of a tree, or of its root, have in common.
private struct Fork: Hashable {
  /// The log; nil at the root, whose children may belong to different logs.
  var log: LogKey?
  var sequence: UInt64
  var previous: ChangeSetID?
}

extension SetHeader {
  fileprivate var tree: LogTree { place.log.tree }

  fileprivate var fork: Fork {
    Fork(log: place.previous == nil ? nil : place.log, sequence: place.sequence, previous: place.previous)
  }
}
