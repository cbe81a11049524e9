import Exchange
import JSONDocument
import Records
import Testing
import Wire

private func small(_ format: ExchangeFormat) -> [UInt8] {
  var size = SampleData.Size()
  (size.habits, size.logs, size.trips, size.items) = (8, 60, 3, 18)
  return switch format {
  case .ritualist: SampleData.ritualist(seed: 21, size: size)
  default: SampleData.travelingSnails(seed: 21, size: size)
  }
}

struct DamageTests {
  @Test(arguments: [ExchangeFormat.ritualist, .travelingSnails])
  func `a truncated file gives one error with line and column`(format: ExchangeFormat) {
    let bytes = small(format)
    for part in 0..<50 {
      let cut = Array(bytes.prefix(bytes.count * part / 50))
      do {
        _ = try Importer.plan(cut)
        Issue.record("cut at \(part)/50 was read")
      } catch {
        guard case .notJSON(let place) = error else {
          Issue.record("cut at \(part)/50: \(error)")
          continue
        }
        #expect(place.line >= 1 && place.column >= 1)
        #expect("\(error)".contains("line \(place.line), column \(place.column)"))
      }
    }
  }

  @Test(arguments: [ExchangeFormat.ritualist, .travelingSnails])
  func `a flipped bit gives an error, or a plan that satisfies the rules`(format: ExchangeFormat) throws {
    let bytes = small(format)
    let step = max(1, bytes.count / 150)
    for position in stride(from: 0, to: bytes.count, by: step) {
      var damaged = bytes
      damaged[position] ^= 1 << UInt8(position % 8)
      guard let plan = try? Importer.plan(damaged) else { continue }
      for draft in plan.drafts { try draft.kind.validate(draft, isNew: false) }
    }
  }

  @Test func `a file of no known format is refused`() {
    for text in ["{}", "[]", "1", #"{"habits":[]}"#, #"{"trip":{},"x":[]}"#] {
      #expect(throws: ExchangeError.unknownFormat) { try Importer.plan(Array(text.utf8)) }
    }
    #expect(throws: ExchangeError.self) { try Importer.plan(small(.ritualist), format: .travelingSnails) }
  }

  @Test(arguments: [
    (#"{"habits":{},"habitLogs":[],"categories":[]}"#, "\"habits\""),
    (#"{"habits":[],"hibitLogs":[],"categories":[]}"#, "\"habitLogs\""),
    (#"{"exportInfo":{},"trips":7}"#, "\"trips\""),
    (#"{"exportInfo":{},"trips":[],"addresses":null}"#, "\"addresses\""),
  ])
  func `a list that is missing or of another type is named as damage`(text: String, place: String) {
    #expect(throws: ExchangeError.wrongShape(place: place, expected: "a list")) {
      try Importer.plan(Array(text.utf8))
    }
  }
}
