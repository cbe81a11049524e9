import Exchange
import JSONDocument
import Records
import Replication
import Testing
import Wire

/// Noon of 21 November 2026, UTC.
let now: Int64 = 1_795_262_400_000

func sample(_ format: ExchangeFormat, seed: UInt64) -> [UInt8] {
  var size = SampleData.Size()
  size.logs = 1_000
  return switch format {
  case .ritualist: SampleData.ritualist(seed: seed, size: size)
  default: SampleData.travelingSnails(seed: seed, size: size)
  }
}

/// A JSON value in a canonical order: objects by key, lists of rows by their own text.
private func normalised(_ json: JSON) -> JSON {
  switch json {
  case .object(let members):
    return .object(
      members.map { JSON.Member($0.key, normalised($0.value)) }.sorted { $0.key < $1.key })
  case .array(let items): return .array(items.map(normalised).sorted { $0.text() < $1.text() })
  case .number(let digits):
    return ExactDecimal(jsonNumber: digits).map { .number($0.trimmed.description) } ?? json
  default: return json
  }
}

struct RoundTripTests {
  @Test(arguments: [ExchangeFormat.ritualist, .travelingSnails], [1, 2, 3] as [UInt64])
  func `exported records are imported as the same records`(format: ExchangeFormat, seed: UInt64) throws {
    let plan = try Importer.plan(sample(format, seed: seed))
    #expect(plan.format == format)
    #expect(plan.skipped.isEmpty, "\(plan.skipped)")
    #expect(plan.warnings.isEmpty, "\(plan.warnings)")
    let file = Exporter.file(format, from: ExportSource(plan.drafts), now: now)
    #expect(file.warnings.isEmpty, "\(file.warnings)")
    let again = try Importer.plan(file.bytes)
    #expect(again.skipped.isEmpty && again.warnings.isEmpty)
    #expect(again.drafts == plan.drafts)
  }

  @Test func `a habit export comes back with every key and value of the imported file`() throws {
    let bytes = sample(.ritualist, seed: 7)
    let plan = try Importer.plan(bytes)
    var file = try JSON.parse(bytes)
    var exported = try JSON.parse(Exporter.file(.ritualist, from: ExportSource(plan.drafts), now: now).bytes)
    file["exportedAt"] = nil
    exported["exportedAt"] = nil
    #expect(normalised(exported).text(.pretty) == normalised(file).text(.pretty))
  }

  @Test func `a trip export comes back with every key and value of the imported file, except for None`()
    throws
  {
    let bytes = sample(.travelingSnails, seed: 7)
    let plan = try Importer.plan(bytes)
    let file = try JSON.parse(bytes)
    let exported = try JSON.parse(
      Exporter.file(.travelingSnails, from: ExportSource(plan.drafts), now: now).bytes)
    let nones = Set(
      (file["organizations"]?.array ?? []).filter { $0["name"] == "None" }.compactMap { $0["id"] })
    #expect(nones.count == 2)
    // The id of the first one stays.
    let kept = try #require(file["organizations"]?.array?.first { $0["name"] == "None" }?["id"])
    func compared(_ json: JSON) -> JSON {
      switch json {
      case .object(let members):
        return .object(
          members.map { member in
            let isNone = member.key == "organizationId" && nones.contains(member.value)
            return JSON.Member(
              member.key, isNone ? kept : compared(member.value))
          })
      case .array(let items): return .array(items.map(compared))
      default: return json
      }
    }
    for key in ["trips", "addresses", "attachments"] {
      let expected = normalised(compared(try #require(file[key])))
      #expect(normalised(try #require(exported[key])).text(.pretty) == expected.text(.pretty), "\(key)")
    }
    let organizations = try #require(exported["organizations"]?.array)
    #expect(organizations.first?["name"] == "None" && organizations.first?["id"] == kept)
    #expect(organizations.filter { $0["name"] == "None" }.count == 1)
    let others = (file["organizations"]?.array ?? []).filter { $0["name"] != "None" }
    #expect(normalised(.array(Array(organizations.dropFirst()))) == normalised(.array(others)))
  }

  @Test func `a currency unknown to the format survives export and import`() throws {
    let trip = RecordDraft(Kind.trip, RecordID(Bytes16(1, 1)), [1: .text("Rome")])
    let money: Value = .array([.text("1234567890123.50"), .text("EUR")])
    let lodging = RecordDraft(
      Kind.lodging, RecordID(Bytes16(1, 2)),
      [1: .bytes(trip.id.bytes), 2: .text("Casa"), Kind.lodging.number("cost"): money])
    let file = Exporter.file(.travelingSnails, from: ExportSource([trip, lodging]), now: now)
    let plan = try Importer.plan(file.bytes)
    let held = plan.drafts.first { $0.id == lodging.id }
    #expect(held?[Kind.lodging.number("cost")] == money)
    #expect(held?[Kind.lodging.number("start")] == .null)
  }

  @Test(arguments: ["12345678901234567.89", "1234567890123456789012345678901234", "0.12345678901234567890"])
  func `a price with more digits than a float survives export and import`(amount: String) throws {
    let trip = RecordDraft(Kind.trip, RecordID(Bytes16(1, 1)), [1: .text("Rome")])
    let field = Kind.lodging.number("cost")
    let money: Value = .array([.text(amount), .text("EUR")])
    let lodging = RecordDraft(
      Kind.lodging, RecordID(Bytes16(1, 2)),
      [1: .bytes(trip.id.bytes), 2: .text("Casa"), field: money])
    let file = Exporter.file(.travelingSnails, from: ExportSource([trip, lodging]), now: now)
    let plan = try Importer.plan(file.bytes)
    #expect(plan.skipped.isEmpty && plan.warnings.isEmpty)
    #expect(plan.drafts.first { $0.id == lodging.id }?[field] == money)
    // If another program changed the number, the exact digits next to it are outdated.
    let changed = String(decoding: file.bytes, as: UTF8.self).replacing(
      "\"cost\": \(amount)", with: "\"cost\": 5")
    let other = try Importer.plan(Array(changed.utf8)).drafts.first { $0.id == lodging.id }
    #expect(other?[field] == .array([.text("5"), .text("EUR")]))
  }

  @Test func `one exported trip includes only what belongs to it`() throws {
    let plan = try Importer.plan(sample(.travelingSnails, seed: 4))
    let trip = try #require(plan.drafts.first { $0.kind == Kind.trip })
    let file = Exporter.file(.travelingSnails, from: ExportSource(plan.drafts), now: now, trip: trip.id)
    let part = try Importer.plan(file.bytes)
    #expect(part.skipped.isEmpty && part.warnings.isEmpty, "\(part.warnings)")
    #expect(part.drafts.filter { $0.kind == Kind.trip } == [trip])
    #expect(Set(part.drafts).subtracting(plan.drafts).isEmpty)
    let items = plan.drafts.filter { $0.kind.parent == 1 && $0[1] == .bytes(trip.id.bytes) }
    #expect(Set(items).isSubset(of: part.drafts))
  }

  @Test func `incomplete files are left out of an export and named`() throws {
    let plan = try Importer.plan(sample(.travelingSnails, seed: 5))
    let data = Kind.attachment.number("fileData")
    let drafts = plan.drafts.map { draft in
      var draft = draft
      if draft.kind == Kind.attachment, case .bytes(let bytes)? = draft[data] {
        draft[data] = Blob.value(of: bytes)
      }
      return draft
    }
    #expect(DraftList(drafts) != plan.drafts)
    let file = Exporter.file(.travelingSnails, from: ExportSource(drafts), now: now)
    #expect(file.warnings.allSatisfy { $0.contains("incomplete on this device") } && !file.warnings.isEmpty)
  }

  @Test func `samples have the requested size, and are the same for the same seed`() throws {
    let habits = try Importer.plan(SampleData.ritualist(seed: 11))
    #expect(habits.drafts.filter { $0.kind == Kind.habit }.count >= 40)
    #expect(habits.drafts.filter { $0.kind == Kind.habitEntry }.count >= 20_000)
    let trips = try Importer.plan(SampleData.travelingSnails(seed: 11))
    #expect(trips.drafts.filter { $0.kind == Kind.trip }.count >= 25)
    let items = [Kind.lodging, Kind.transportation, Kind.activity]
    #expect(trips.drafts.filter { items.contains($0.kind) }.count >= 400)
    #expect(trips.drafts.contains { $0.kind == Kind.attachment })
    #expect(sample(.travelingSnails, seed: 3) == sample(.travelingSnails, seed: 3))
    #expect(sample(.ritualist, seed: 3) != sample(.ritualist, seed: 4))
  }
}
