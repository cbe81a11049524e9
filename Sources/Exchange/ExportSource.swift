package import FileFormat
import JSONDocument
package import Records
package import Wire

/// The visible records for an export, and the files that they refer to.
package struct ExportSource: Sendable {
  private var records: [Kind: [RecordID: RecordDraft]] = [:]
  private var files: Set<FileReference> = []

  /// The kinds that a full export has.
  let schema: Schema

  package init(_ records: some Sequence<RecordDraft> = [], schema: Schema = .builtIn) {
    self.schema = schema
    for record in records { add(record) }
  }

  package mutating func add(_ record: RecordDraft) {
    records[record.kind, default: [:]][record.id] = record
  }

  /// Adds a file that a record refers to and whose bytes can be read when the export is written.
  package mutating func add(_ file: FileReference) { files.insert(file) }

  /// The files whose bytes can be read.
  package var readableFiles: Set<FileReference> { files }

  /// Removes a file whose bytes can't be read after all.
  package mutating func remove(_ file: FileReference) { files.remove(file) }

  func record(_ kind: Kind, _ id: RecordID) -> RecordDraft? { records[kind]?[id] }

  /// Returns all records of a kind, sorted by a key and then by id.
  func records<Key: Comparable>(_ kind: Kind, by key: (RecordDraft) -> Key) -> [RecordDraft] {
    let keyed = (records[kind] ?? [:]).values.map { (key: key($0), record: $0) }
    return keyed.sorted { left, right in
      left.key == right.key ? left.record.id < right.record.id : left.key < right.key
    }.map(\.record)
  }

  func records(_ kind: Kind) -> [RecordDraft] { records(kind) { $0.id } }

  /// All legs, those of a journey in their order.
  var legs: [RecordDraft] {
    records(Kind.leg) { leg in
      LegPosition(
        index: leg.integer("sortIndex") ?? .max, departure: leg.held("departure").time ?? .max)
    }
  }

  private struct LegPosition: Comparable {
    let index: Int64
    let departure: Int64

    static func < (left: Self, right: Self) -> Bool {
      (left.index, left.departure) < (right.index, right.departure)
    }
  }

  /// Removes the bytes of fields that exceed the export's bound. Without this, an export could become huge, because many
  /// records can refer to the same file. Returns a warning for each removed field.
  ///
  /// An export to a file contains each file at least once, so without repetitions it is as large as what this device
  /// stores anyway. Only repetitions count against the limit there. In an export in memory, everything counts.
  mutating func leaveOutBytes(
    over bytesMax: Int = Limits.exportBytesMax, isInMemory: Bool
  ) -> [String] {
    var total = 0
    var written: Set<FileReference> = []
    var warnings: [String] = []
    for kind in schema.exportedKinds {
      let blobs = kind.fields.filter { $0.type == .blob }
      guard !blobs.isEmpty else { continue }
      for held in records(kind) {
        for field in blobs {
          guard case .file(let file)? = content(held[field.number]) else { continue }
          let counts = isInMemory || written.contains(file)
          if !counts || file.size <= bytesMax - total {
            if counts { total += file.size }
            written.insert(file)
            continue
          }
          records[kind]?[held.id]?[field.number] = .null
          let reason =
            isInMemory
            ? "without --output, an export holds at most \(bytesMax >> 20) MiB of files"
            : "files that several records refer to are repeated for at most \(bytesMax >> 20) MiB"
          warnings.append("\(field.name) of \(kind.name) \(held.id.uuid) is left out: \(reason)")
        }
      }
    }
    return warnings
  }

  /// Removes the content of files that exceed the bound of an export in memory; their records remain. Returns a warning
  /// if any are removed.
  fileprivate mutating func leaveOutFiles(over bytesMax: Int = Limits.exportBytesMax) -> [String] {
    var total = 0
    let tooMuch = files.sorted().filter { file in
      guard file.size <= bytesMax - total else { return true }
      total += file.size
      return false
    }
    files.subtract(tooMuch)
    guard !tooMuch.isEmpty else { return [] }
    return ["without --output, an export holds at most \(bytesMax >> 20) MiB of files; the rest is left out"]
  }

  /// Returns the content of a `blob` field; nil if it is empty, or if its file can't be read on this device.
  func content(_ value: Value?) -> Blob? {
    guard let blob = Blob(value) else { return nil }
    if case .file(let file) = blob, !files.contains(file) { return nil }
    return blob
  }

  /// Returns the content of a `blob` field as a base64 string; nil if it is empty or can't be read.
  func base64(_ value: Value?, _ files: inout [FileReference]) -> JSON? {
    switch content(value) {
    case .inline(let bytes): return .string(Base64.encode(bytes))
    case .file(let file):
      files.append(file)
      return .placeholder(files.count - 1)
    case nil: return nil
    }
  }
}

extension ExportSource {
  /// Returns one trip with its items, their attachments, and the organizations and addresses that they refer to.
  func only(trip id: RecordID) -> ExportSource {
    guard let trip = record(Kind.trip, id) else { return ExportSource(schema: schema) }
    var part = ExportSource([trip], schema: schema)
    for item in Kind.owners.flatMap({ records($0) }) where item.reference("trip") == id {
      part.add(item)
      let organization = item.reference("organizationId").flatMap { record(Kind.organization, $0) }
      for owner in [item, organization].compactMap(\.self) { addWithAddresses(owner, to: &part) }
    }
    for leg in legs {
      guard let journey = leg.reference("transportationID"),
        part.record(Kind.transportation, journey) != nil
      else { continue }
      let organization = leg.reference("organizationId").flatMap { record(Kind.organization, $0) }
      for owner in [leg, organization].compactMap(\.self) { addWithAddresses(owner, to: &part) }
    }
    for attachment in records(Kind.attachment) {
      guard let owner = attachment.held("parent").part(1).recordID,
        Kind.owners.contains(where: { part.record($0, owner) != nil })
      else { continue }
      part.add(attachment)
    }
    part.files = files
    return part
  }

  private func addWithAddresses(_ owner: RecordDraft, to part: inout ExportSource) {
    part.add(owner)
    for field in owner.kind.fields where field.type == .reference(KindNumbers.address) {
      if let id = owner[field.number]?.recordID, let address = record(Kind.address, id) { part.add(address) }
    }
  }
}

/// A part of an exported file.
package enum ExportPart: Sendable {
  case bytes([UInt8])
  /// The content of a file of the store, as it is.
  case file(FileReference)
  /// The content of a file of the store, as a JSON string in base64.
  case base64(FileReference)
}

/// A file for another application.
package struct ExportedFile: Sendable {
  /// The content, in order. The bytes of files are read when the export is written, so they need not be in memory.
  package let parts: [ExportPart]
  /// Warnings about data that the format can't represent, that is too large, or that is missing on this device.
  package let warnings: [String]

  init(bytes: [UInt8], warnings: [String]) {
    parts = [.bytes(bytes)]
    self.warnings = warnings
  }

  /// - Parameter files: the files for which the placeholders in `json` stand, by number.
  init(_ json: JSON, _ layout: JSON.Layout, files: [FileReference], warnings: [String]) {
    let (texts, rest) = json.pieces(layout)
    parts = texts.flatMap { [.bytes($0.text), .base64(files[$0.placeholder])] } + [.bytes(rest)]
    self.warnings = warnings
  }

  init(parts: [ExportPart], warnings: [String]) {
    (self.parts, self.warnings) = (parts, warnings)
  }

  fileprivate func warning(first warnings: [String]) -> ExportedFile {
    ExportedFile(parts: parts, warnings: warnings + self.warnings)
  }

  /// The content without the files of the store.
  package var bytes: [UInt8] { parts.flatMap(\.bytes) }
}

extension ExportPart {
  fileprivate var bytes: [UInt8] { if case .bytes(let bytes) = self { bytes } else { [] } }
}

/// A folder of files for another application.
package struct ExportedFolder: Sendable {
  package struct Entry: Sendable {
    /// The path relative to the folder, with `/` as separator.
    package let path: String
    package let content: ExportPart
    /// The content, unless it is a file of the store.
    package var bytes: [UInt8] { content.bytes }
  }

  package var files: [Entry] = []
  package var warnings: [String] = []

  mutating func add(_ path: String, _ bytes: [UInt8]) {
    files.append(Entry(path: path, content: .bytes(bytes)))
  }
}

/// Writes files for other applications.
package enum Exporter {
  /// Writes an export that is a single file.
  ///
  /// - Parameters:
  ///   - format: a format that is a single file.
  ///   - now: the time of the export, which the file states, in milliseconds since 1970.
  ///   - trip: the trip to export with its items; nil for everything.
  ///   - isInMemory: whether the whole export will be in memory, which then bounds its files.
  package static func file(
    _ format: ExchangeFormat, from source: ExportSource, now: Int64, trip: RecordID? = nil,
    zones: ZoneOffsets = .system, isInMemory: Bool = true
  ) -> ExportedFile {
    var source = format == .travelingSnails ? source : trip.map(source.only) ?? source
    // A full export contains each file once, so only its content in memory needs a bound.
    let leftOut =
      format == .json
      ? (isInMemory ? source.leaveOutFiles() : []) : source.leaveOutBytes(isInMemory: isInMemory)
    return write(format, from: source, now: now, trip: trip, zones: zones).warning(first: leftOut)
  }

  private static func write(
    _ format: ExchangeFormat, from source: ExportSource, now: Int64, trip: RecordID?,
    zones: ZoneOffsets
  ) -> ExportedFile {
    switch format {
    case .ritualist:
      var writer = RitualistWriter(source: source, now: now, zones: zones)
      return writer.write()
    case .travelingSnails:
      var writer = TravelingSnailsWriter(source: source, now: now, trip: trip)
      return writer.write()
    case .ics:
      var writer = CalendarWriter(source: source, now: now, zones: zones)
      return writer.write()
    case .json: return FullExport(source, zones: zones).json(now: now)
    case .loopCSV, .csv, .loopDB, .habitbull, .surmai:
      preconditionFailure("\(format.rawValue) is not written as one file")
    }
  }

  /// Writes an export that is a folder.
  ///
  /// - Parameters:
  ///   - format: a format that is a folder.
  package static func folder(
    _ format: ExchangeFormat, from source: ExportSource, trip: RecordID? = nil,
    zones: ZoneOffsets = .system
  ) -> ExportedFolder {
    precondition(format.isFolder, "\(format.rawValue) is written as one file")
    guard format == .csv else {
      var writer = LoopWriter(source: source)
      return writer.write()
    }
    var source = trip.map(source.only) ?? source
    let leftOut = source.leaveOutBytes(isInMemory: false)
    var folder = FullExport(source, zones: zones).csv()
    folder.warnings = leftOut + folder.warnings
    return folder
  }
}

extension RecordDraft {
  /// Returns the value of a field; null if the draft does not have the field.
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

  /// The time of an instant, in milliseconds; nil for other values.
  var time: Int64? {
    switch self {
    case .integer(let time): time
    case .array: if case .integer(let time) = part(0) { time } else { nil }
    default: nil
    }
  }

  /// The value as JSON for exported files, if it has a single part; nil for null, bytes and arrays.
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

/// Returns a time under its key, and if it has a fraction of a second, its exact form under a key of its own: the other
/// applications refuse fractions.
func fileTimes(_ key: String, _ milliseconds: Int64) -> [JSON.Member] {
  let time = JSON.Member(key, fileTime(milliseconds))
  guard wholeSecond(milliseconds) != milliseconds else { return [time] }
  return [time, .init(AddedKeys.exact(key), .string(timeText(milliseconds: milliseconds)))]
}

/// Returns a time in ISO 8601, in UTC and without fractions, as the other applications expect.
func fileTime(_ milliseconds: Int64) -> JSON {
  .string(timeText(milliseconds: wholeSecond(milliseconds)))
}
