// Protocol/merge.md, Protocol/store.md: stores with equal sets hold equal records

/// Everything that a store keeps about a lane's records, in a form that can be compared between stores.
struct Dump {
  let node: String
  let records: [DumpedRecord]
  let digests: [Name32]

  init(_ view: NodeView, _ lane: Int) throws {
    node = view.name
    records = try (PlainKinds.all.map(Optional.some) + [nil]).flatMap { kind in
      try StoreReader.keys(kind, view.connection).sorted()
        .filter { PlainKinds.lane(UInt64($0.kind)) == lane }.map { try DumpedRecord($0, view) }
    }
    digests = try StoreReader.digests(view.connection)[lane]
  }

  /// Describes the first difference in a sentence that refers to the other node as "it"; nil if the dumps are equal.
  func difference(from other: Dump, _ library: SetLibrary) -> String? {
    for (left, right) in zip(records, other.records) where left != right {
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
struct DumpedRecord: Equatable {
  let key: PlainKey
  let life: Int64?
  let stamps: [Int: Int?]
  let extra: [Int: [UInt8]]
  let columns: [PlainColumn]
  let siblings: Set<Sibling>
  let hidden: Set<HiddenWrite>

  struct Sibling: Hashable {
    let field: Int
    let set: Int?
    let content: [UInt8]
    let differs: Bool
  }

  struct HiddenWrite: Hashable {
    let set: Int?
    let deletion: Int?
    let byParent: Bool
  }

  init(_ key: PlainKey, _ view: NodeView) throws {
    let row = try StoreReader.row(key, view.connection)
    self.key = key
    life = row?.life
    stamps = row?.stamps.mapValues(view.set) ?? [:]
    extra = row?.extra ?? [:]
    columns = row?.columns ?? []
    siblings = Set(
      try StoreReader.siblings(key, view.connection).map {
        Sibling(field: $0.field, set: view.set(number: $0.number), content: $0.content, differs: $0.differs)
      })
    hidden = Set(
      try StoreReader.hiddenWrites(key, view.connection).map {
        HiddenWrite(
          set: view.set(number: $0.number), deletion: view.set(number: $0.deletion), byParent: $0.byParent)
      })
  }

  func line(_ library: SetLibrary) -> String {
    func name(_ set: Int?) -> String { set.map { "\(library.sets[$0].id)" } ?? "seed" }
    let stamps = stamps.sorted { $0.key < $1.key }.map { "\($0.key)@\(name($0.value))" }
    let extra = extra.sorted { $0.key < $1.key }.map { "\($0.key)=\(plainHex($0.value))" }
    let siblings = siblings.map { "\($0.field)~\(name($0.set))=\(plainHex($0.content)) \($0.differs)" }
    let hidden = hidden.map { "hidden \(name($0.set)) by \(name($0.deletion)) \($0.byParent)" }
    return "\(key) \(life.map(String.init) ?? "-") "
      + (stamps + extra + columns.map { "\($0)" } + siblings.sorted() + hidden.sorted()).joined(
        separator: " ")
  }
}
