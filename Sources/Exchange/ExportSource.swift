package import FileFormat
import JSONDocument
package import Records
package import Wire

/// The visible records for an export, and the files that they refer to.
package struct ExportSource: Sendable {
  private var records: [Kind: [RecordID: RecordDraft]] = [:]
  private var files: [FileReference: [UInt8]] = [:]

  package init(_ records: [RecordDraft] = []) {
    for record in records { add(record) }
  }

  package mutating func add(_ record: RecordDraft) {
    records[record.kind, default: [:]][record.id] = record
  }

  /// Adds the bytes of a file that a record refers to.
  package mutating func add(_ file: FileReference, _ bytes: [UInt8]) { files[file] = bytes }

  func record(_ kind: Kind, _ id: RecordID) -> RecordDraft? { records[kind]?[id] }

  /// Returns all records of a kind, sorted by a key and then by id.
  func records<Key: Comparable>(_ kind: Kind, by key: (RecordDraft) -> Key) -> [RecordDraft] {
    let keyed = (records[kind] ?? [:]).values.map { (key: key($0), record: $0) }
    return keyed.sorted { left, right in
      left.key == right.key ? left.record.id < right.record.id : left.key < right.key
    }.map(\.record)
  }

  func records(_ kind: Kind) -> [RecordDraft] { records(kind) { $0.id } }

  /// Removes the bytes of each field that is larger than any device writes, or that exceeds what is left of the
  /// export's size limit. Without this, an export could become huge, because many records can refer to the same
  /// file. Returns a warning for each removed field.
  mutating func leaveOutBytes(over bytesMax: Int = Limits.exportBytesMax) -> [String] {
    var total = 0
    var warnings: [String] = []
    for kind in FullExport.kinds {
      let blobs = kind.fields.filter { $0.type == .blob }
      guard !blobs.isEmpty else { continue }
      for held in records(kind) {
        for field in blobs {
          let size = Blob(held[field.number])?.byteCount ?? 0
          let isTooLong = size > Limits.attachmentBytesMax
          if !isTooLong, total + size <= bytesMax {
            total += size
            continue
          }
          records[kind]?[held.id]?[field.number] = .null
          let reason =
            isTooLong
            ? "it is larger than \(Limits.attachmentBytesMax >> 20) MiB"
            : "an export holds at most \(bytesMax >> 20) MiB of files"
          warnings.append("\(field.name) of \(kind.name) \(held.id.uuid) is left out: \(reason)")
        }
      }
    }
    return warnings
  }

  /// Returns the bytes of a `blob` field; nil if it is empty, or if its file is not on this device.
  func bytes(_ value: Value?) -> [UInt8]? {
    switch Blob(value) {
    case .inline(let bytes): bytes
    case .file(let file): files[file]
    case nil: nil
    }
  }
}

extension ExportSource {
  /// Returns one trip with its items, their attachments, and the organizations and addresses that they refer to.
  func only(trip id: RecordID) -> ExportSource {
    guard let trip = record(Registry.trip, id) else { return ExportSource() }
    var part = ExportSource([trip])
    for item in Registry.owners.flatMap({ records($0) }) where item.reference("trip") == id {
      part.add(item)
      guard let used = item.reference("organizationId").flatMap({ record(Registry.organization, $0) }) else {
        continue
      }
      part.add(used)
      if let address = used.reference("address").flatMap({ record(Registry.address, $0) }) {
        part.add(address)
      }
    }
    for attachment in records(Registry.attachment) {
      guard let owner = attachment.held("parent").part(1).recordID,
        Registry.owners.contains(where: { part.record($0, owner) != nil })
      else { continue }
      part.add(attachment)
    }
    part.files = files
    return part
  }
}

/// A file for another application.
package struct ExportedFile: Sendable {
  package let bytes: [UInt8]
  /// Warnings about data that the format can't represent, that is too large, or that is missing on this device.
  package let warnings: [String]
}

/// A folder of files for another application.
package struct ExportedFolder: Sendable {
  /// The files, with paths that are relative to the folder and have `/` as separator.
  package var files: [(path: String, bytes: [UInt8])] = []
  package var warnings: [String] = []
}

/// Writes files for other applications.
package enum Exporter {
  /// Writes an export that is a single file.
  ///
  /// - Parameters:
  ///   - format: a format that is a single file.
  ///   - now: the time of the export, which the file states, in milliseconds since 1970.
  ///   - trip: the trip to export with its items; nil for everything.
  package static func file(
    _ format: ExchangeFormat, from source: ExportSource, now: Int64, trip: RecordID? = nil,
    zones: ZoneOffsets = .system
  ) -> ExportedFile {
    var source = format == .travelingSnails ? source : trip.map(source.only) ?? source
    let leftOut = source.leaveOutBytes()
    let file = write(format, from: source, now: now, trip: trip, zones: zones)
    return ExportedFile(bytes: file.bytes, warnings: leftOut + file.warnings)
  }

  private static func write(
    _ format: ExchangeFormat, from source: ExportSource, now: Int64, trip: RecordID?, zones: ZoneOffsets
  ) -> ExportedFile {
    switch format {
    case .ritualist:
      var writer = RitualistWriter(source: source, now: now)
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
    _ format: ExchangeFormat, from source: ExportSource, trip: RecordID? = nil, zones: ZoneOffsets = .system
  ) -> ExportedFolder {
    precondition(format.isFolder, "\(format.rawValue) is written as one file")
    guard format == .csv else {
      var writer = LoopWriter(source: source)
      return writer.write()
    }
    var source = trip.map(source.only) ?? source
    let leftOut = source.leaveOutBytes()
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

/// Returns a time in ISO 8601, in UTC and without fractions, as the other applications expect.
func fileTime(_ milliseconds: Int64) -> JSON {
  .string(timeText(milliseconds: wholeSecond(milliseconds)))
}
