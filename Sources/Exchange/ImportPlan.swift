import JSONDocument
package import Records
package import Wire

/// The records that an import would write. The whole file is read before anything is written.
package struct ImportPlan: Sendable {
  package let format: ExchangeFormat
  /// The records in ascending order of kind and id, each record once.
  package private(set) var drafts: DraftList
  /// The rows that are skipped.
  package let skipped: [SkippedRow]
  /// Warnings that require no action.
  package let warnings: [String]

  /// Replaces bytes that are too long for a field by references to files with these bytes.
  ///
  /// - Parameter keep: stores the bytes, and returns the value that names them.
  package mutating func replaceLongBytes(_ keep: ([UInt8]) throws -> Value) rethrows {
    try drafts.changeLong { draft in
      for field in draft.kind.fields where field.type == .blob {
        guard case .bytes(let bytes)? = draft[field.number], !Blob.isInline(byteCount: bytes.count) else {
          continue
        }
        draft[field.number] = try keep(bytes)
      }
    }
  }
}

/// A row of a file that is not imported.
package struct SkippedRow: Hashable, Sendable {
  /// The position of the row, such as `habitLogs[12]` or `line 7`.
  package let place: String
  package let reason: String
}

/// Collects drafts, skipped rows and warnings while a file is read.
struct PlanBuilder {
  /// The drafts, in the order of the file.
  private var drafts = DraftList()
  /// The index in `drafts` of each record, by kind and id, except for records that were added as rows.
  private var positions: [Kind: [RecordID: Int32]] = [:]
  private(set) var skipped: [SkippedRow] = []
  private var warnings: [String] = []
  private var findings = Findings()

  /// Adds a record, unless its values are invalid or its id is already present.
  ///
  /// - Parameters:
  ///   - isComplete: whether to reject a record without the required fields of its kind.
  mutating func add(_ draft: RecordDraft, isComplete: Bool) throws(RowError) {
    try Self.check(draft, isComplete: isComplete)
    try add(checked: draft)
  }

  /// Adds a record that has been validated, unless its id is already present.
  private mutating func add(checked draft: RecordDraft) throws(RowError) {
    guard position(draft.kind, draft.id) == nil else { throw Self.twice(draft.id) }
    append(draft)
  }

  private static func twice(_ id: RecordID) -> RowError {
    RowError("its id \(id.uuid) appears twice in the file")
  }

  /// Throws if the draft has invalid values.
  static func check(_ draft: RecordDraft, isComplete: Bool) throws(RowError) {
    do throws(FieldError) {
      try draft.kind.validate(draft, isNew: isComplete)
    } catch {
      throw RowError(error.description)
    }
  }

  /// Adds the rows of a list of the file, whose pieces were read in parallel, and reports what was found in them. The
  /// plan must have no other records of their kind, and `draft` does not find them later.
  mutating func add(_ pieces: consuming [RowPiece], of section: String) {
    let first = drafts.count
    var rows: [Int] = []
    var refused: [(index: Int, error: RowError)] = []
    // Each piece is freed once it has been added.
    pieces.reverse()
    while let piece = pieces.popLast() {
      drafts.append(contentsOf: piece.drafts)
      rows += piece.indices
      refused += piece.refused
      findings.add(piece.findings)
    }
    for (index, id) in drafts.sort(from: first) { refused.append((rows[index - first], Self.twice(id))) }
    for (index, error) in refused.sorted(by: { $0.index < $1.index }) {
      skip(Location(section, index), error.reason)
    }
  }

  /// Returns the draft of a record that was added before; nil if there is none.
  func draft(_ kind: Kind, _ id: RecordID) -> RecordDraft? {
    position(kind, id).map { drafts[$0] }
  }

  /// Returns a value for each record of a kind that was added before.
  func values<Found>(of kind: Kind, _ value: (RecordDraft) -> Found) -> [RecordID: Found] {
    (positions[kind] ?? [:]).mapValues { value(drafts[Int($0)]) }
  }

  private func position(_ kind: Kind, _ id: RecordID) -> Int? { positions[kind]?[id].map { Int($0) } }

  /// Adds or replaces records without validating them, such as the organization None.
  mutating func put(_ records: [RecordDraft]) {
    for record in records {
      if let position = position(record.kind, record.id) {
        drafts.replace(at: position, with: record)
      } else {
        append(record)
      }
    }
  }

  private mutating func append(_ draft: RecordDraft) {
    positions[draft.kind, default: [:]][draft.id] = Int32(drafts.count)
    drafts.append(draft)
  }

  mutating func skip(_ place: Location, _ reason: String) {
    skipped.append(SkippedRow(place: place.description, reason: reason))
  }

  mutating func warn(_ warning: String) { warnings.append(warning) }

  /// Counts a finding that is reported only once, with its number of occurrences.
  mutating func count(_ what: String) { findings.count(what) }

  /// Reports an object's keys that the format does not have.
  mutating func noteUnknownKeys(_ row: JSON, known: Set<String>, in section: String) {
    noteUnknownKeys((row.members ?? []).map(\.key), known: known, in: section)
  }

  /// Reports the keys that the format does not have.
  mutating func noteUnknownKeys(_ keys: [String], known: Set<String> = [], in section: String) {
    findings.noteUnknownKeys(keys.filter { !known.contains($0) }, in: section)
  }

  /// Reports keys that the format does not have.
  mutating func note(kept: [String], leftOut: [String], in section: String) {
    findings.note(kept: kept, leftOut: leftOut, in: section)
  }

  /// Returns the plan of everything collected, and empties the builder so that no record is in memory twice.
  mutating func plan(_ format: ExchangeFormat) -> ImportPlan {
    positions = [:]
    var sorted = DraftList()
    swap(&sorted, &drafts)
    let removed = sorted.sort()
    precondition(removed.isEmpty, "two drafts of one record")
    let spans = sorted.indices.lazy.filter { sorted.kind(at: $0)?.span != nil }
    return ImportPlan(
      format: format, drafts: sorted, skipped: skipped,
      warnings: warnings + spans.compactMap { Self.misordered(sorted[$0]) } + findings.sentences)
  }

  /// Returns a warning about a record that ends before it starts; nil if it does not. Such records are imported, because
  /// only their author knows which of the two times is wrong.
  private static func misordered(_ draft: RecordDraft) -> String? {
    guard let span = draft.kind.span, let start = time(draft[span.start.number]),
      let end = time(draft[span.end.number]), end < start
    else { return nil }
    let text = draft.kind.field(named: "name").flatMap { draft.text($0.name) }
    let name = text.map { "\"\($0.prefix(60))\"" } ?? draft.id.uuid
    return "\(draft.kind.name) \(name) ends before it starts; it is imported unchanged"
  }

  private static func time(_ value: Value?) -> Int64? { value?.asInteger ?? value?.part(0).asInteger }
}

/// The rows of a piece of a list, which one thread reads.
struct RowPiece: Sendable {
  private(set) var drafts = DraftList()
  /// The index among the rows of the list from which each draft was created.
  private(set) var indices: [Int] = []
  /// The rows that are skipped.
  var refused: [(index: Int, error: RowError)] = []
  var findings = Findings()

  /// Adds a row that has been validated.
  mutating func append(_ draft: RecordDraft, from index: Int) {
    drafts.append(draft)
    indices.append(index)
  }
}

/// Findings that are reported only once each, with the number of their occurrences.
struct Findings: Sendable {
  private var counts: [String: Int] = [:]

  mutating func count(_ what: String) { counts[what, default: 0] += 1 }

  mutating func add(_ other: Findings) { counts.merge(other.counts, uniquingKeysWith: +) }

  /// Counts keys that the format does not have.
  mutating func note(kept: [String], leftOut: [String], in section: String) {
    for key in kept { count("\(section): the key \"\(key)\" is unknown and is kept with its record") }
    noteUnknownKeys(leftOut, in: section)
  }

  mutating func noteUnknownKeys(_ keys: [String], in section: String) {
    for key in keys { count("\(section): the key \"\(key)\" is unknown and is left out") }
  }

  /// The findings in the order of their bytes.
  var sentences: [String] {
    counts.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map {
      $0.value == 1 ? $0.key : "\($0.key) (\($0.value) times)"
    }
  }
}

/// The position of a row in a file, which becomes text only if the row is reported.
struct Location: CustomStringConvertible {
  let section: String
  let index: Int?

  init(_ section: String, _ index: Int? = nil) {
    self.section = section
    self.index = index
  }

  var description: String { index.map { "\(section)[\($0)]" } ?? section }
}

/// The reason why a row is skipped.
struct RowError: Error {
  let reason: String

  init(_ reason: String) { self.reason = reason }
}
