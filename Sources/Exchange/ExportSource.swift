package import Records
package import Wire

/// The visible records that an export is made from, and the contents that they name.
package struct ExportSource: Sendable {
  private var records: [Kind: [RecordID: RecordDraft]] = [:]

  package init(_ records: [RecordDraft] = []) {
    for record in records { add(record) }
  }

  package mutating func add(_ record: RecordDraft) {
    records[record.kind, default: [:]][record.id] = record
  }

  func record(_ kind: Kind, _ id: RecordID) -> RecordDraft? { records[kind]?[id] }

  /// All records of a kind, in the order of a key and then of their ids.
  func records<Key: Comparable>(_ kind: Kind, by key: (RecordDraft) -> Key) -> [RecordDraft] {
    let keyed = (records[kind] ?? [:]).values.map { (key: key($0), record: $0) }
    return keyed.sorted { left, right in
      left.key == right.key ? left.record.id < right.record.id : left.key < right.key
    }.map(\.record)
  }

  func records(_ kind: Kind) -> [RecordDraft] { records(kind) { $0.id } }

  /// The bytes of a field that may be cut into contents; nil if it is empty or not all of it is here.
  func bytes(_ value: Value?) -> [UInt8]? {
    Contents.join(value) { id in
      guard case .bytes(let bytes) = record(Registry.content, id)?[Contents.bytesField] else { return nil }
      return bytes
    }
  }
}

/// A file made for another application.
package struct ExportedFile: Sendable {
  package let bytes: [UInt8]
  /// What the format cannot hold, and what is not here yet.
  package let warnings: [String]
}

/// Writes files of other applications.
package enum Exporter {
  /// - Parameters:
  ///   - now: milliseconds since 1970, for the file's own time.
  ///   - trip: to export one trip with what belongs to it, rather than everything.
  package static func file(
    _ format: ExchangeFormat, from source: ExportSource, now: Int64, trip: RecordID? = nil
  ) -> ExportedFile {
    switch format {
    case .ritualist:
      var writer = RitualistWriter(source: source, now: now)
      return writer.write()
    case .travelingSnails:
      var writer = TravelingSnailsWriter(source: source, now: now, trip: trip)
      return writer.write()
    }
  }
}

extension RecordDraft {
  /// What a field holds; null where the draft does not mention it.
  func held(_ name: String) -> Value { self[kind.number(name)] ?? .null }

  func text(_ name: String) -> String? {
    guard case .text(let text) = held(name) else { return nil }
    return text
  }

  func integer(_ name: String) -> Int64? {
    guard case .integer(let number) = held(name) else { return nil }
    return number
  }

  func bool(_ name: String) -> Bool? {
    guard case .bool(let flag) = held(name) else { return nil }
    return flag
  }

  func reference(_ name: String) -> RecordID? { held(name).recordID }
}

extension Value {
  var recordID: RecordID? {
    guard case .bytes(let bytes) = self else { return nil }
    return RecordID(bytes: bytes)
  }

  /// The milliseconds of an instant.
  var time: Int64? {
    switch self {
    case .integer(let time): time
    case .array: if case .integer(let time) = part(0) { time } else { nil }
    default: nil
    }
  }

  /// A value of one part as these files hold it; nil for null.
  var fileJSON: JSON? {
    switch self {
    case .bool(let flag): .bool(flag)
    case .integer(let number): .integer(number)
    case .float(let number): .float(number)
    case .text(let text): .string(text)
    case .null, .bytes, .array: nil
    }
  }
}

/// ISO 8601 in UTC without fractions: what these applications read.
func fileTime(_ milliseconds: Int64) -> JSON {
  .string(timeText(milliseconds: wholeSecond(milliseconds)))
}
