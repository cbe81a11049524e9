// Protocol/merge.md, Sources/store.md: stores with equal sets hold equal records

/// Everything that a store keeps about a lane's records, in a form that can be compared between stores.
struct Dump {
  let node: String
  let records: [DumpedRecord]
  let digests: [Name32]
  /// The slots that are missing in the store, by set.
  private let missing: [Int: Set<Int>]

  init(_ view: NodeView, _ lane: Int, _ library: SetLibrary) throws {
    node = view.name
    missing = view.missing.filter { library.sets[$0.key].header.log.lane == lane }
    records = try (PlainKinds.all.map(Optional.some) + [nil]).flatMap { kind in
      try StoreReader.keys(kind, view.connection).sorted()
        .filter { PlainKinds.lane(UInt64($0.kind)) == lane }.map { try DumpedRecord($0, view, library) }
    }
    digests = try StoreReader.digests(view.connection)[lane]
  }

  /// Describes the first difference in a sentence that refers to the other node as "it"; nil if the dumps are equal.
  ///
  /// The stores may lack different values, because peers may withhold values. What depends on values that only one of
  /// them has is not compared.
  func difference(from other: Dump, _ library: SetLibrary) -> String? {
    let isAlike = missing == other.missing
    for (left, right) in zip(records, other.records) where !left.isEqual(to: right, comparingHidden: isAlike)
    {
      return "\(node) holds \(left.line(library)) where it holds \(right.line(library))"
    }
    if records.count != other.records.count {
      return "\(node) holds \(records.count) records, and it holds \(other.records.count)"
    }
    for (bucket, sums) in zip(digests, other.digests).enumerated() where sums.0 != sums.1 {
      return "\(node) has digest \(sums.0) in bucket \(bucket), and it has \(sums.1)"
    }
    return nil
  }
}

/// A record as a store keeps it. Sets are identified by their indexes in the judge's library, because set numbers
/// differ between stores. The index is nil for a value that no set wrote.
struct DumpedRecord {
  let key: PlainKey
  let life: Int64?
  let stamps: [Int: Int?]
  let extra: [Int: [UInt8]]
  let columns: [PlainColumn]
  /// The fields whose shown values are absent.
  let absent: Set<Int>
  let siblings: Set<Sibling>
  let hidden: Set<HiddenWrite>

  struct Sibling: Hashable {
    let field: Int
    let set: Int?
    /// The written content: null for absent values.
    let content: [UInt8]
    let isAbsent: Bool
    let differs: Bool
  }

  struct HiddenWrite: Hashable {
    let set: Int?
    let deletion: Int?
    let byParent: Bool
  }

  init(_ key: PlainKey, _ view: NodeView, _ library: SetLibrary) throws {
    let row = try StoreReader.row(key, view.connection)
    self.key = key
    life = row?.life
    stamps = row?.stamps.mapValues(view.set) ?? [:]
    extra = row?.extra ?? [:]
    columns = row?.columns ?? []
    let expected = view.record(key, library)
    absent = expected.absentFields
    siblings = Set(
      try StoreReader.siblings(key, view.connection).map { row in
        let set = view.set(number: row.number)
        let write = expected.cells[row.field]?.siblings.first { $0.set == set }
        return Sibling(
          field: row.field, set: set, content: row.content, isAbsent: write?.content.isAbsent == true,
          differs: row.differs)
      })
    hidden = Set(
      try StoreReader.hiddenWrites(key, view.connection).map {
        HiddenWrite(
          set: view.set(number: $0.number), deletion: view.set(number: $0.deletion), byParent: $0.byParent)
      })
  }

  /// - Parameter comparingHidden: whether the two stores lack the same values, so that they know the same parents.
  fileprivate func isEqual(to other: DumpedRecord, comparingHidden: Bool) -> Bool {
    guard key == other.key, life == other.life, stamps == other.stamps else { return false }
    let lacked = absent.symmetricDifference(other.absent)
    guard values(without: lacked) == other.values(without: lacked) else { return false }
    return haveEqualSiblings(other) && (!comparingHidden || hidden == other.hidden)
  }

  private struct Values: Equatable {
    let columns: [PlainColumn]
    let extra: [Int: [UInt8]]
  }

  /// Returns the stored values except those of some fields.
  private func values(without lacked: Set<Int>) -> Values {
    var place = 0
    var kept: [PlainColumn] = []
    for field in PlainKinds.byNumber[key.kind]?.fields ?? [] {
      let range = place..<place + field.columns.count
      place = range.upperBound
      if !lacked.contains(field.number), columns.count >= place { kept += columns[range] }
    }
    return Values(columns: kept, extra: extra.filter { !lacked.contains($0.key) })
  }

  private func haveEqualSiblings(_ other: DumpedRecord) -> Bool {
    func places(_ siblings: Set<Sibling>) -> Set<[Int]> { Set(siblings.map { [$0.field, $0.set ?? -1] }) }
    guard places(siblings) == places(other.siblings) else { return false }
    let isAlike = absent == other.absent && places(absentSiblings) == places(other.absentSiblings)
    if isAlike { return siblings == other.siblings }
    return siblings.allSatisfy { sibling in
      guard let same = other.siblings.first(where: { ($0.field, $0.set) == (sibling.field, sibling.set) })
      else {
        return false
      }
      return sibling.isAbsent || same.isAbsent || sibling.content == same.content
    }
  }

  private var absentSiblings: Set<Sibling> { siblings.filter(\.isAbsent) }

  func line(_ library: SetLibrary) -> String {
    func name(_ set: Int?) -> String { set.map { "\(library.sets[$0].id)" } ?? "seed" }
    let stamps = stamps.sorted { $0.key < $1.key }.map { "\($0.key)@\(name($0.value))" }
    let extra = extra.sorted { $0.key < $1.key }.map { "\($0.key)=\(plainHex($0.value))" }
    let siblings = siblings.map {
      "\($0.field)~\(name($0.set))=\($0.isAbsent ? "absent" : plainHex($0.content)) \($0.differs)"
    }
    let absent = absent.sorted().map { "\($0) absent" }
    let hidden = hidden.map { "hidden \(name($0.set)) by \(name($0.deletion)) \($0.byParent)" }
    return "\(key) \(life.map(String.init) ?? "-") "
      + (stamps + extra + absent + columns.map { "\($0)" } + siblings.sorted() + hidden.sorted()).joined(
        separator: " ")
  }
}
