import Records
import Replication
import Testing
import Wire

/// Every limit of every field of the built-in kinds, at its last accepted and its first refused value.
struct FieldLimitTests {
  private static let fields = Schema.builtIn.kinds.flatMap { kind in
    kind.fields.map { (kind: kind, field: $0) }
  }

  private func refusal(_ field: Field, _ value: Value) -> FieldError? {
    do throws(FieldError) {
      try field.validate(value)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a text is limited by its characters, not by its bytes`() {
    var count = 0
    for (kind, field) in Self.fields {
      guard let max = field.rule.charactersMax else { continue }
      count += 1
      // Each character has three bytes and two scalars.
      let longest = String(repeating: "e\u{301}", count: max)
      #expect(refusal(field, .text(longest)) == nil, "\(kind.name) \(field.name)")
      let error = refusal(field, .text(longest + "x"))
      #expect(error?.field == field.typedName(part: 0), "\(kind.name) \(field.name)")
      let message = error.map { "\($0)" } ?? ""
      #expect(message.contains("at most \(max) characters"), "\(kind.name) \(field.name): \(message)")
    }
    #expect(count > 60)
    let emoji = String(repeating: "👨‍👩‍👧‍👦", count: 10)
    #expect(refusal(Kind.habit.fields[2], .text(emoji)) == nil)
    #expect(refusal(Kind.habit.fields[2], .text(emoji + "!")) != nil)
  }

  @Test func `numbers and words are accepted up to the ends of their ranges`() {
    var (integers, numbers, words) = (0, 0, 0)
    for (kind, field) in Self.fields {
      let name: Comment = "\(kind.name) \(field.name)"
      if let range = field.rule.integers {
        integers += 1
        #expect(refusal(field, .integer(range.lowerBound)) == nil, name)
        #expect(refusal(field, .integer(range.upperBound)) == nil, name)
        #expect(refusal(field, .integer(range.lowerBound - 1)) != nil, name)
        if range.upperBound < .max { #expect(refusal(field, .integer(range.upperBound + 1)) != nil, name) }
      }
      if let range = field.rule.numbers {
        numbers += 1
        #expect(refusal(field, .float(range.lowerBound)) == nil, name)
        #expect(refusal(field, .float(range.upperBound)) == nil, name)
        #expect(refusal(field, .float(range.lowerBound.nextDown)) != nil, name)
        #expect(refusal(field, .float(range.upperBound.nextUp)) != nil, name)
      }
      for word in field.rule.words {
        words += 1
        #expect(refusal(field, .text(word)) == nil, name)
        for other in [word.uppercased(), word + "s", ""] {
          #expect(refusal(field, .text(other)) != nil, name)
        }
      }
    }
    #expect(integers >= 4 && numbers >= 3 && words >= 20)
  }

  private func items(_ shape: ListShape, _ count: Int) -> Value {
    .array(
      (0..<count).map { index -> Value in
        switch shape {
        case .weights: .array([.text("w\(10_000 + index)"), .float(1)])
        case .zoneChanges: .array([.text("UTC"), .text("Asia/Tokyo"), .integer(Int64(index))])
        default: .array([.integer(8), .integer(0)])
        }
      })
  }

  @Test func `a list is accepted up to its number of items`() {
    var count = 0
    for (kind, field) in Self.fields {
      guard let max = field.rule.itemsMax, case .list(let shape) = field.type else { continue }
      count += 1
      #expect(refusal(field, items(shape, 0)) == nil, "\(kind.name) \(field.name)")
      #expect(refusal(field, items(shape, max)) == nil, "\(kind.name) \(field.name)")
      let error = refusal(field, items(shape, max + 1))
      #expect(error?.value == "\(max + 1) items", "\(kind.name) \(field.name)")
    }
    #expect(count == 3)
  }

  private func check(_ name: String, accepted: [Value], refused: [Value]) throws {
    let field = try #require(Kind.habit.fields.first { $0.name == name })
    for value in accepted { #expect(refusal(field, value) == nil, "\(name) \(value)") }
    for value in refused { #expect(refusal(field, value) != nil, "\(name) \(value)") }
  }

  private func place(_ latitude: Double, _ longitude: Double) -> Value {
    .array([.float(latitude), .float(longitude)])
  }

  private func reminder(_ parts: Int64...) -> Value { .array([.array(parts.map { .integer($0) })]) }

  @Test func `a place is on the earth, and the error names the part that is not`() throws {
    let (above, below) = (90.0.nextUp, (-90.0).nextDown)
    let (east, west) = (180.0.nextUp, (-180.0).nextDown)
    try check(
      "location", accepted: [place(90, 180), place(-90, -180), place(0, 0)],
      refused: [place(above, 0), place(below, 0), place(0, east), place(0, west)])
    let location = try #require(Kind.habit.field(named: "latitude"))
    #expect(refusal(location, place(91, 0))?.field == "latitude")
    #expect(refusal(location, place(0, 181))?.field == "longitude")
  }

  @Test func `colours, weekdays, times of day and minutes are valid ones`() throws {
    let colors = ["2DA9E3", "#2DA9E", "#2DA9E33", "#2DA9EG", "#", ""]
    try check(
      "colorHex", accepted: [.text("#2DA9E3"), .text("#2da9e3"), .text("#000000")],
      refused: colors.map { .text($0) })
    try check(
      "frequency", accepted: [.text("oncePerDay"), .integer(1), .integer(1_440)],
      refused: [.text("daily"), .integer(0), .integer(-1), .integer(1_441)])
    let week: [Value] = (1...7).map { .integer($0) }
    try check(
      "schedule", accepted: [.text("daily"), .array([]), .array(week)],
      refused: [
        .array([.integer(0)]), .array([.integer(8)]), .array([.integer(1), .integer(1)]), .text("oncePerDay"),
      ])
    try check(
      "reminders", accepted: [reminder(0, 0), reminder(23, 59)],
      refused: [reminder(24, 0), reminder(0, 60), reminder(-1, 0), reminder(0, -1), reminder(8)])
  }

  private func example(_ field: Field) -> Value {
    switch field.type {
    case .reference: .bytes([UInt8](repeating: 1, count: 16))
    case .owner: .owner(Kind.lodging, RecordID(Bytes16(0, 1)))
    case .datedInstant: .array([.integer(0), .text("UTC"), .text("1970-01-01")])
    default: .text("Name")
    }
  }

  @Test func `a new record needs each required field, and names the one that is missing`() throws {
    let id = RecordID(Bytes16(0, 1))
    var count = 0
    for kind in Schema.builtIn.kinds {
      let required = kind.fields.filter(\.rule.isRequired)
      let whole = Dictionary(uniqueKeysWithValues: required.map { ($0.number, example($0)) })
      #expect(throws: Never.self, "\(kind.name)") {
        try kind.validate(RecordDraft(kind, id, whole), isNew: true)
      }
      for field in required {
        count += 1
        let empty: [Value?] = [nil, .null] + (field.type == .text ? [.text("")] : [])
        for value in empty {
          var values = whole
          values[field.number] = value
          let draft = RecordDraft(kind, id, values)
          do throws(FieldError) {
            try kind.validate(draft, isNew: true)
            Issue.record("a \(kind.name) without \(field.name) was accepted")
          } catch {
            #expect(error.field == field.typedName(part: 0) && error.value == nil, "\(kind.name)")
          }
          #expect(throws: Never.self, "\(kind.name) \(field.name)") { try kind.validate(draft, isNew: false) }
        }
      }
    }
    #expect(count >= 12)
  }
}
