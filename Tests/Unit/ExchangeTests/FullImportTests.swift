import FileFormat
import JSONDocument
import Reasons
import Records
import Replication
import Testing
import Wire

@testable import Exchange

/// Exports everything and imports it again.
struct FullImportTests {
  private func export(_ drafts: some Sequence<RecordDraft>, files: [FileReference] = []) -> ExportedFile {
    var source = ExportSource(drafts)
    for file in files { source.add(file) }
    return Exporter.file(.json, from: source, now: now, isInMemory: false)
  }

  /// The document of an export, changed.
  private func changed(_ draft: RecordDraft, _ change: (inout JSON) -> Void) throws -> ImportPlan {
    var json = try JSON.parse(export([draft]).bytes)
    change(&json)
    return try Importer.plan(json.bytes(.compact))
  }

  private func endsBeforeItStarts(_ draft: RecordDraft) -> Bool {
    [("start", "end"), ("startDate", "endDate"), ("departure", "arrival")].contains { names in
      let times = [names.0, names.1].map { name in
        draft.kind.field(named: name).flatMap { draft[$0.number] }
          .flatMap { $0.asInteger ?? $0.part(0).asInteger }
      }
      guard let start = times[0], let end = times[1] else { return false }
      return end < start
    }
  }

  @Test(arguments: 1...40 as ClosedRange<UInt64>)
  func `generated records of every kind come back with the same ids and values`(seed: UInt64) throws {
    var generator = RecordGenerator(seed: seed)
    let drafts = generator.records()
    let file = export(drafts)
    let plan = try Importer.plan(file.bytes)
    #expect(plan.format == .json)
    #expect(plan.skipped.isEmpty)
    // Generated times have any order, which the import keeps, with a warning.
    #expect(plan.warnings.count == drafts.filter(endsBeforeItStarts).count, "\(plan.warnings)")
    #expect(plan.warnings.allSatisfy { $0.hasSuffix("ends before it starts; it is imported unchanged") })
    for draft in drafts {
      let read = try #require(plan.drafts.first { $0.key == draft.key })
      for field in draft.kind.fields where draft.key != FixedRecords.none || field.number != 1 {
        #expect(
          (read[field.number] ?? .null).encoded == (draft[field.number] ?? .null).encoded,
          "\(draft.kind.name).\(field.name), seed \(seed)")
      }
    }
    #expect(plan.drafts.count == drafts.count)
    #expect(export(plan.drafts).bytes == file.bytes)
  }

  @Test(arguments: [ExchangeFormat.ritualist, .travelingSnails], [1, 2] as [UInt64])
  func `records of other applications survive a full export`(format: ExchangeFormat, seed: UInt64) throws {
    let plan = try Importer.plan(sample(format, seed: seed))
    let again = try Importer.plan(export(plan.drafts).bytes)
    #expect(again.skipped.isEmpty && again.warnings.isEmpty)
    #expect(again.drafts.map(\.key) == plan.drafts.map(\.key))
    #expect(export(again.drafts).bytes == export(plan.drafts).bytes)
  }

  @Test func `a missing key leaves a field unchanged, and null empties it`() throws {
    let trip = RecordDraft(Kind.trip, RecordID(Bytes16(1, 1)), [1: .text("Rome"), 2: .text("Hat")])
    let plan = try changed(trip) { json in
      json.edit("trips") { $0["notes"] = nil }
      json.edit("trips") { $0["startDate"] = .null }
    }
    #expect(plan.drafts.first?[2] == nil && plan.drafts.first?[4] == .null)
  }

  @Test func `what a newer version has added is reported, and a newer format is refused`() throws {
    let trip = RecordDraft(Kind.trip, RecordID(Bytes16(1, 1)), [1: .text("Rome")])
    let plan = try changed(trip) { json in
      json.edit("trips") { $0["budget"] = 5 }
      json["documents"] = []
    }
    #expect(plan.drafts.count == 1)
    #expect(
      plan.warnings == [
        "the file: the key \"documents\" is unknown and is left out",
        "trips: the key \"budget\" is unknown and is left out",
      ])
    #expect(throws: ExchangeError.newerExport("waymark.export/3")) {
      try changed(trip) { $0["schema"] = "waymark.export/3" }
    }
  }

  @Test func `rows with values or ids that no such record can have are skipped, and named`() throws {
    let trip = RecordDraft(Kind.trip, RecordID(Bytes16(1, 1)), [1: .text("Rome")])
    let key = "colorScheme"
    let setting = RecordDraft(
      Kind.setting, RecordID(kind: Kind.setting, key: key), [1: .text(key), 2: .text("dark")])
    #expect(try Importer.plan(export([setting]).bytes).drafts == DraftList([setting]))
    #expect(
      try changed(setting) { $0.edit("settings") { $0["key"] = "other" } }.skipped.map(\.place) == [
        "settings[0]"
      ])
    for (field, value) in [("startDate", "tomorrow"), ("isProtected", "yes"), ("id", "1")] as [(String, JSON)]
    {
      let plan = try changed(trip) { $0.edit("trips") { $0[field] = value } }
      #expect(plan.drafts.isEmpty && plan.skipped.map(\.place) == ["trips[0]"], "\(field)")
    }
    let twice = try changed(trip) {
      $0["trips"] = .array(($0["trips"]?.array ?? []) + ($0["trips"]?.array ?? []))
    }
    #expect(twice.drafts.count == 1 && twice.skipped.map(\.place) == ["trips[1]"])
  }

  @Test func `answers of commands and exports as CSV are recognised, and say what to use instead`() throws {
    #expect(throws: ExchangeError.isAnswer("waymark.status/1")) {
      try Importer.plan(Array(#"{"schema": "waymark.status/1", "device": "a"}"#.utf8))
    }
    let folder = Exporter.folder(.csv, from: ExportSource())
    let trips = try #require(folder.files.first { $0.path == "trips.csv" })
    #expect(Importer.reads(trips.path))
    #expect(throws: ExchangeError.isFullExportFolder) {
      try Importer.plan(.folder([ImportedFile(path: trips.path, bytes: trips.bytes)]))
    }
    #expect(throws: ExchangeError.isFullExportFolder) { try Importer.plan(trips.bytes) }
    #expect(ExchangeError.isFullExportFolder.remedy?.description.contains("export --format json") == true)
  }
}

/// Files that are embedded in an export.
struct EmbeddedFileTests {
  private static let field = Kind.attachment.number("fileData")

  private func attachment(_ number: UInt64, _ value: Value) -> RecordDraft {
    RecordDraft(
      Kind.attachment, RecordID(Bytes16(2, number)), [2: .text("a \"quoted\\\" name"), Self.field: value])
  }

  /// Writes an export with the files in it, as the store does.
  private func written(_ drafts: [RecordDraft], _ contents: [[UInt8]]) throws -> [UInt8] {
    let references = try contents.map { try #require(FileHasher.list(of: $0)).reference }
    var source = ExportSource(drafts)
    for file in references { source.add(file) }
    return Exporter.file(.json, from: source, now: now, isInMemory: false).parts.flatMap { part -> [UInt8] in
      switch part {
      case .bytes(let bytes): return bytes
      case .file: return []
      case .base64(let file):
        let content = references.firstIndex(of: file).map { contents[$0] } ?? []
        return Array("\"\(Base64.encode(content))\"".utf8)
      }
    }
  }

  /// Separates an export that is read in pieces of this size; returns the text and the bytes of the files.
  private func separate(
    _ bytes: [UInt8], pieces: Int
  ) throws -> (text: [UInt8], files: [FileReference], contents: [[UInt8]]) {
    var start = 0
    var contents: [[UInt8]] = []
    let (text, files) = try EmbeddedFiles.separate(
      read: {
        defer { start = min(bytes.count, start + pieces) }
        return Array(bytes[start..<min(bytes.count, start + pieces)])
      },
      keep: { next in
        var content: [UInt8] = []
        while let piece = try next() { content += piece }
        contents.append(content)
        return try #require(FileHasher.list(of: content)).reference
      })
    return (text, files, contents)
  }

  private func content(_ count: Int, _ seed: UInt64) -> [UInt8] {
    var random = SplitMix(seed: seed)
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }

  @Test(arguments: [997, 65_536, 1 << 20])
  func `long files never reach the text, wherever the pieces end`(pieces: Int) throws {
    let contents = [content(200_001, 1), content(50_000, 2), content(80_000, 3), content(33_000, 4)]
    let references = try contents.map { try #require(FileHasher.list(of: $0)).reference }
    var drafts = references.enumerated().map { attachment(UInt64($0.offset), $0.element.value) }
    drafts += [attachment(10, references[0].value), attachment(11, .bytes([])), attachment(12, .bytes([7]))]
    let bytes = try written(drafts, contents)
    #expect(EmbeddedFiles.isExport(Array(bytes.prefix(100))))
    let separated = try separate(bytes, pieces: pieces)
    #expect(separated.text.count < 140_000)
    #expect(separated.contents == contents.filter { $0.count > 49_152 })
    var plan = try Importer.plan(.export(text: separated.text, files: separated.files))
    #expect(plan.skipped.isEmpty && plan.warnings.isEmpty, "\(plan.skipped)")
    plan.replaceLongBytes { Blob.value(of: $0) }
    #expect(plan.drafts.map { $0[Self.field] } == drafts.map { $0[Self.field] })
  }

  @Test func `content that does not match its id, or is no base64, is refused`() throws {
    let content = content(200_001, 1)
    let reference = try #require(FileHasher.list(of: content)).reference
    let bytes = try written([attachment(1, reference.value)], [content])
    let text = String(decoding: bytes, as: UTF8.self)
    let other = Array(text.replacing("\"bytes\": 200001", with: "\"bytes\": 200002").utf8)
    let separated = try separate(other, pieces: 4_096)
    let plan = try Importer.plan(.export(text: separated.text, files: separated.files))
    #expect(plan.drafts.isEmpty && plan.skipped.first?.reason.contains("matches its size and id") == true)
    let middle = try #require(text.utf8.firstRange(of: Base64.encode(content).utf8)?.lowerBound)
    var broken = bytes
    broken[text.utf8.distance(from: text.utf8.startIndex, to: middle) + 150_000] = UInt8(ascii: "!")
    #expect(throws: ExchangeError.self) { try separate(broken, pieces: 4_096) }
    #expect(throws: ExchangeError.self) { try separate(Array(bytes.prefix(200_000)), pieces: 4_096) }
    // Numbers and long texts that are no files.
    let plain = Array(
      "[\(String(repeating: "1", count: 100_000)), \"\(String(repeating: "a b", count: 50_000))\"]".utf8)
    #expect(try separate(plain, pieces: 997).text == plain)
    // A number that names no file.
    let wrong = Array(
      #"{"schema":"waymark.export/2","attachments":[{"id":"\#(RecordID(Bytes16(1, 1)).uuid)","fileData":9}]}"#
        .utf8)
    #expect(try Importer.plan(.export(text: wrong, files: [])).skipped.count == 1)
  }
}

extension JSON {
  /// Changes the first item of a list in the document.
  fileprivate mutating func edit(_ list: String, _ change: (inout JSON) -> Void) {
    guard var items = self[list]?.array, !items.isEmpty else { return }
    change(&items[0])
    self[list] = .array(items)
  }
}

/// Generates records of every kind whose fields have all kinds of values.
private struct RecordGenerator {
  private var random: SplitMix

  init(seed: UInt64) { random = SplitMix(seed: seed) }

  mutating func records() -> [RecordDraft] {
    Schema.builtIn.exportedKinds.flatMap { kind in
      (0..<(kind == Kind.profile ? 1 : 3)).map { _ in record(kind) }
    }
  }

  private mutating func record(_ kind: Kind) -> RecordDraft {
    var draft = RecordDraft(kind, kind == Kind.profile ? FixedRecords.profile.id : id())
    if kind == Kind.setting {
      let key = "setting \(random.next())"
      draft = RecordDraft(kind, RecordID(kind: kind, key: key), [1: .text(key)])
    }
    for field in kind.fields where draft[field.number] == nil && random.below(4) > 0 {
      let value = value(field)
      if (try? field.validate(value)) != nil { draft[field.number] = value }
    }
    return draft
  }

  private mutating func id() -> RecordID { RecordID(Bytes16(random.next(), random.next())) }
  private mutating func one<Item>(_ items: [Item]) -> Item { items[Int(random.below(UInt64(items.count)))] }
  private mutating func time() -> Value {
    .integer(one([0, 1, -1, 1_777_820_400_123, -62_135_596_800_000, Int64(random.below(4_000_000_000_000))]))
  }
  private mutating func zone() -> Value {
    one([.null, .text("Europe/Rome"), .text("Asia/Kathmandu"), .text("UTC"), .text("Mars/Phobos")])
  }
  private mutating func number() -> Double {
    one([0, 1, -0.1, 0.1 + 0.2, 1e-300, 123_456.789, Double(random.below(1_000)) / 7])
  }
  private mutating func text() -> String {
    one([
      "", " ", "Rome", "e\u{301}", "\u{0}\u{1f}\n\t\"\\/", "🏃‍♀️", "\u{202e}\u{feff}", "AAAA", "none", "daily",
    ])
  }

  private mutating func value(_ field: Field) -> Value {
    if !field.rule.words.isEmpty { return .text(one(field.rule.words)) }
    switch field.type {
    case .bool: return .bool(random.below(2) == 0)
    case .integer: return .integer(one([0, 1, 3, 9_007_199_254_740_993]))
    case .float: return .float(number())
    case .text, .keyReference: return .text(field.rule.isColor ? "#2DA9E3" : text())
    case .uuid, .reference: return .bytes(id().bytes)
    case .timestamp: return time()
    case .instant: return .array([time(), zone()])
    case .datedInstant: return .array([time(), zone(), .text(one(["2026-05-03", "0001-01-01"]))])
    case .money:
      return .array([
        .text(one(["0", "-120.50", "1.10", "0.12345678901234567890", "12345678901234567.89"])),
        one([.null, .text("EUR")]),
      ])
    case .coordinate: return .array([.float(number() / 1_000_000), .float(-number() / 1_000_000 + 0.5)])
    case .owner: return .owner(one(Kind.owners), id())
    case .blob, .bytes:
      return .bytes((0..<Int(one([0, 1, 2, 3, 31]))).map { UInt8(truncatingIfNeeded: $0 &* 37) })
    case .list(let shape): return list(shape)
    case .any:
      return one([.bool(true), .integer(-5), .float(2), .float(0.1), .text(text()), .bytes([1, 255])])
    }
  }

  private mutating func list(_ shape: ListShape) -> Value {
    switch shape {
    case .reminders: one([.array([]), .array([.array([.integer(8), .integer(0)])])])
    case .schedule: one([.text("daily"), .array([.integer(1), .integer(7)])])
    case .frequency: one([.text("oncePerDay"), .integer(90)])
    case .weights: one([.array([]), .array([.array([.text("drive"), .float(0.1)])])])
    case .zoneChanges: one([.array([]), .array([.array([.text("A"), .text("B"), time()])])])
    }
  }
}
