package import Replication
package import Wire

/// The drafts of an import, each kept in its encoded form until it is read.
///
/// A large file consists of very many small records. As values, their fields take several times the memory of their
/// encoding, and an import holds all of them until the last one has been read. Long drafts, which are few, are kept as
/// they are.
package struct DraftList: Sendable {
  /// The key of a draft, and where its fields are.
  private struct Place: Sendable {
    let id: RecordID
    let kind: KindNumber
    /// The index of the chunk; `longChunk` for a long draft.
    let chunk: Int32
    /// The index in the chunk where the fields start, or the index in `long`.
    let start: Int32
    /// The index that the draft had when it was put in.
    let number: Int32

    var key: RecordKey { RecordKey(kind: kind, id: id) }

    static let longChunk: Int32 = -1
  }

  private var places: [Place] = []
  /// The fields of the drafts: for each draft, their number, then the number and the value of each field.
  private var chunks: [[UInt8]] = []
  /// The chunk that comes after `chunks`, to which drafts are appended.
  private var writer = CBORWriter()
  private var long: [RecordDraft] = []
  private var kinds: [KindNumber: Kind] = [:]

  package init() {}

  package init(_ drafts: some Sequence<RecordDraft>) { for draft in drafts { append(draft) } }

  // MARK: Writing

  package mutating func append(_ draft: RecordDraft) {
    if kinds[draft.kind.number] == nil { kinds[draft.kind.number] = draft.kind }
    places.append(write(draft, number: places.count))
  }

  /// Appends the drafts of another list in their order.
  package mutating func append(contentsOf other: DraftList) {
    closeChunk()
    let (firstChunk, firstLong) = (Int32(chunks.count), Int32(long.count))
    for place in other.places {
      let isLong = place.chunk == Place.longChunk
      places.append(
        Place(
          id: place.id, kind: place.kind, chunk: isLong ? Place.longChunk : place.chunk + firstChunk,
          start: isLong ? place.start + firstLong : place.start, number: Int32(places.count)))
    }
    chunks += other.chunks
    writer = other.writer
    closeChunk()
    long += other.long
    kinds.merge(other.kinds) { held, _ in held }
  }

  /// Moves the current chunk to the complete ones, in an array that has no spare room.
  private mutating func closeChunk() {
    var chunk: [UInt8] = []
    chunk.reserveCapacity(writer.bytes.count)
    chunk += writer.bytes
    chunks.append(chunk)
    writer = CBORWriter()
  }

  /// Replaces the draft at an index by another draft of the same record.
  package mutating func replace(at index: Int, with draft: RecordDraft) {
    places[index] = write(draft, number: index)
  }

  /// Changes the long drafts. No other draft has a field of more than `bytesMax` bytes.
  package mutating func changeLong(_ change: (inout RecordDraft) throws -> Void) rethrows {
    for index in long.indices { try change(&long[index]) }
  }

  /// Sorts the drafts from an index on by kind and id. Of several drafts of one record, only the first one stays.
  ///
  /// - Returns: the indices that the removed drafts had when they were put in, in ascending order, and their ids.
  package mutating func sort(from first: Int = 0) -> [(index: Int, id: RecordID)] {
    places[first...].sort { ($0.key, $0.number) < ($1.key, $1.number) }
    var removed: [(index: Int, id: RecordID)] = []
    var end = first
    for index in first..<places.count {
      let place = places[index]
      if end > first, places[end - 1].key == place.key {
        removed.append((Int(place.number), place.id))
      } else {
        places[end] = place
        end += 1
      }
    }
    places.removeSubrange(end...)
    return removed.sorted { $0.index < $1.index }
  }

  /// The most bytes that the fields of a draft have if it is kept in its encoded form.
  private static let bytesMax = 2_048
  private static let chunkBytesMax = 1_048_576

  /// Writes the fields of a draft.
  private mutating func write(_ draft: RecordDraft, number: Int) -> Place {
    if writer.bytes.count > Self.chunkBytesMax { closeChunk() }
    let start = writer.bytes.count
    if draft.fields.allSatisfy({ Self.isShort($0.value) }) {
      writer.unsigned(UInt64(draft.fields.count))
      for field in draft.fields {
        writer.unsigned(UInt64(field.number))
        writer.value(field.value)
      }
      if writer.bytes.count - start <= Self.bytesMax {
        return Place(
          id: draft.id, kind: draft.kind.number, chunk: Int32(chunks.count), start: Int32(start),
          number: Int32(number))
      }
      writer.bytes.removeLast(writer.bytes.count - start)
    }
    long.append(draft)
    return Place(
      id: draft.id, kind: draft.kind.number, chunk: Place.longChunk, start: Int32(long.count - 1),
      number: Int32(number))
  }

  /// Whether a value can be encoded, and is short enough for that to be tried.
  private static func isShort(_ value: Value) -> Bool {
    switch value {
    case .null, .bool, .integer: true
    case .float: value.isWritable
    case .text(let text): text.utf8.count <= bytesMax
    case .bytes(let bytes): bytes.count <= bytesMax
    case .array(let items):
      items.allSatisfy { item in
        if case .array(let inner) = item { return inner.allSatisfy { !$0.isArray && isShort($0) } }
        return isShort(item)
      }
    }
  }
}

extension DraftList: RandomAccessCollection {
  package var startIndex: Int { 0 }
  package var endIndex: Int { places.count }

  package func key(at index: Int) -> RecordKey { places[index].key }
  package func kind(at index: Int) -> Kind? { kinds[places[index].kind] }

  package subscript(index: Int) -> RecordDraft {
    let place = places[index]
    guard place.chunk != Place.longChunk else { return long[Int(place.start)] }
    guard let kind = kinds[place.kind], let fields = try? fields(place) else {
      preconditionFailure("a draft that was encoded can't be decoded")
    }
    return RecordDraft(kind, place.id, ascending: fields)
  }

  private func fields(_ place: Place) throws(WireError) -> [FieldValue] {
    let bytes = place.chunk < chunks.count ? chunks[Int(place.chunk)] : writer.bytes
    var reader = CBORReader(bytes, in: Int(place.start)..<bytes.count)
    let count = try reader.unsigned(max: Self.bytesMax)
    var fields: [FieldValue] = []
    fields.reserveCapacity(count)
    for _ in 0..<count {
      let number = FieldNumber(try reader.unsigned(max: Int(FieldNumber.max)))
      fields.append(FieldValue(number, try reader.value()))
    }
    return fields
  }
}

extension DraftList: Equatable {
  package static func == (left: DraftList, right: DraftList) -> Bool { left.elementsEqual(right) }
}

extension Value {
  fileprivate var isArray: Bool {
    if case .array = self { true } else { false }
  }
}
