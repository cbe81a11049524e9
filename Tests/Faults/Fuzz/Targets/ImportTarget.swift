import Exchange
import Membership
import RecordTables
import Records
import Replication
import Storage
import Wire

@Sendable func fuzzRitualist(_ input: [UInt8]) throws { try fuzzImport(input, .ritualist) }
@Sendable func fuzzTravelingSnails(_ input: [UInt8]) throws { try fuzzImport(input, .travelingSnails) }

/// A file of another application: its records satisfy the rules, can be written and stored, and are exported to an
/// equivalent file.
private func fuzzImport(_ input: [UInt8], _ format: ExchangeFormat) throws {
  guard let plan = try? Importer.plan(input, format: format) else { return }
  for draft in plan.drafts {
    do throws(FieldError) {
      try draft.kind.validate(draft, isNew: false)
    } catch {
      throw BrokenRule("an imported row may not be written: \(error)")
    }
  }
  guard let first = exported(plan, format), let second = exported(first, format) else {
    throw BrokenRule("an export of imported records can't be imported")
  }
  try require(second.drafts == first.drafts, "a file changes when it is exported and imported")
  try write(plan.drafts)
}

private func exported(_ plan: ImportPlan, _ format: ExchangeFormat) -> ImportPlan? {
  let file = Exporter.file(format, from: ExportSource(plan.drafts), now: Cast.noon)
  return try? Importer.plan(file.bytes, format: format)
}

/// Writes and stores the drafts as a node does.
private func write(_ drafts: DraftList) throws {
  guard !drafts.isEmpty else { return }
  let log = LogKey(device: DeviceKey(Cast.alice), incarnation: Scribe.incarnations[0], lane: .records)
  var author = Author(
    position: AuthorPosition(
      circle: Cast.circle, log: log, sequence: 0, id: nil, clock: .zero, logBytes: 0, unseen: []),
    key: Cast.alice, seed: { Bytes16(5, 5) })
  let entries = drafts.map { draft in
    EntryDraft(.insert, draft.key, draft.fields.map { ($0.number, $0.value) })
  }
  let operation = OperationDraft(id: OperationID(.zero), verb: "import")
  let sets: [VerifiedChangeSet]
  do throws(ChangeSetError) {
    sets = try author.write(entries, operation: operation, wall: Cast.noon)
  } catch {
    // A record may be larger than a set; a node reports this and writes nothing.
    guard case .invalid = error else { throw BrokenRule("imported records can't be written: \(error)") }
    return
  }
  let store = try Store.inMemory()
  let report = try store.commit(sets, horizon: Clock(raw: .max))
  try require(report.placements.allSatisfy { $0 == .place(folds: true) }, "an import was not placed")
  for kind in report.entries.keys { _ = try store.records(RecordQuery(kind)) }
}
