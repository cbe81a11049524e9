import Exchange
import Foundation
import JSONDocument
import Testing
import Wire

/// Expects a refusal: the exit code, a message with all of these words, and no change.
func expectRefusal(
  _ device: Device, _ words: [String], code: Int32, saying wanted: String..., input: String? = nil,
  sourceLocation: SourceLocation = #_sourceLocation
) async throws {
  let before = try await device.status().everything
  let outcome = try await device.run(words, input: input)
  let typed = "`waymark \(words.joined(separator: " "))`"
  #expect(outcome.code == code, "\(typed): \(outcome.errors)", sourceLocation: sourceLocation)
  #expect(outcome.output.isEmpty, "\(typed) wrote to standard output", sourceLocation: sourceLocation)
  expectPlainWords(outcome.errors, wanted, typed, sourceLocation)
  let after = try await device.status().everything
  #expect(after == before, "\(typed) changed something", sourceLocation: sourceLocation)
}

/// Expects a few lines of plain text, without names of Swift types.
func expectPlainWords(
  _ said: String, _ wanted: [String], _ typed: String, _ sourceLocation: SourceLocation = #_sourceLocation
) {
  for part in wanted {
    // Each suggested step contains the home; only the step matters here.
    let flat = said.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      .replacing(#/ --home (?:/\S+|'[^']*')/#, with: "")
    #expect(flat.contains(part), "\(typed) does not print “\(part)”: \(said)", sourceLocation: sourceLocation)
  }
  for leak in ["Optional(", "Swift.", "Foundation.", "Error(", "Fatal", "fatal", "nil"] {
    #expect(!said.contains(leak), "\(typed) prints “\(leak)”: \(said)", sourceLocation: sourceLocation)
  }
  #expect(
    said.split(separator: "\n").count <= 8, "the output of \(typed) is too long: \(said)",
    sourceLocation: sourceLocation)
}

/// Invalid files and arguments; each test uses one device, whose content stays unchanged.
@Suite(.serialized) struct BadFileTests {
  private func device(on stage: Stage) async throws -> Device {
    let device = Device("alice", on: stage)
    try await device.text("init", "--name", "alice")
    try await device.text("trip", "add", "name=Rome in May")
    try await device.text("trip", "add", "name=Rome in June")
    return device
  }

  private static let small: SampleData.Size = {
    var size = SampleData.Size()
    (size.habits, size.logs, size.trips, size.items) = (3, 40, 2, 9)
    return size
  }()

  @Test func `a broken export is rejected as a whole`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await device(on: stage)
    let files = [
      SampleData.ritualist(seed: 7, size: Self.small), SampleData.travelingSnails(seed: 7, size: Self.small),
    ]
    for (index, bytes) in files.enumerated() {
      for cut in [1, bytes.count / 3, bytes.count - 2] {
        let file = try stage.write(Array(bytes.prefix(cut)), "cut-\(index)-\(cut).json")
        try await expectRefusal(alice, ["import", file], code: 1, saying: "Nothing was imported", "Next:")
      }
      for place in [bytes.count / 4, bytes.count / 2, bytes.count - 30] {
        var flipped = bytes
        flipped[place] ^= 0x80
        let file = try stage.write(flipped, "flip-\(index)-\(place).json")
        try await expectRefusal(alice, ["import", file], code: 1, saying: "Nothing was imported", "Next:")
      }
    }
    let good = try stage.write(files[0], "good.json")
    let bad = try stage.write(Array(files[1].dropLast(9)), "bad.json")
    try await expectRefusal(alice, ["import", good, bad], code: 1, saying: "Nothing was imported", bad)
    let empty = try stage.write([], "empty.json")
    try await expectRefusal(alice, ["import", empty], code: 1, saying: "Nothing was imported")
    try await expectRefusal(alice, ["import", stage.path("none.json")], code: 1, saying: "none.json")
    try await alice.text("import", good)
    #expect(try await alice.status().count("habitEntries") == 40)
  }

  @Test func `a single flipped bit is either refused or gives a complete import`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await device(on: stage)
    let bytes = SampleData.ritualist(seed: 8, size: Self.small)
    for step in 0..<12 {
      var flipped = bytes
      flipped[(step * 7_919 + 131) % bytes.count] ^= UInt8(1 << (step % 7))
      let file = try stage.write(flipped, "bit-\(step).json")
      let before = try await alice.status().everything
      let outcome = try await alice.run(["import", "--preview", file])
      #expect([0, 1].contains(outcome.code), "\(outcome.errors)")
      #expect(try await alice.status().everything == before)
    }
  }

  @Test func `entitlements that do not apply here are refused with the reason`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    let seller = try await Seller.make(with: alice)
    let stranger = try await Seller.make("stranger", with: alice)
    try await alice.text("init", "--issuer", seller.publicKey)
    let circle = try await alice.status().circle
    let elsewhere = try await seller.certificate(
      String(repeating: "ab", count: 32), until: Seller.year, with: alice)
    try await expectRefusal(
      alice, ["entitlement", "install", elsewhere], code: 1, saying: "another circle",
      "waymark issuer issue")
    let unknown = try await stranger.certificate(circle, until: Seller.year, with: alice)
    try await expectRefusal(
      alice, ["entitlement", "install", unknown], code: 1, saying: "does not trust", "waymark issuer trust")
    let good = try await seller.certificate(circle, until: Seller.year, with: alice)
    let text = try String(contentsOfFile: good, encoding: .utf8)
    for place in [30, text.count / 2, text.count - 8] {
      var characters = Array(text)
      characters[place] = characters[place] == "A" ? "B" : "A"
      let file = try stage.write(Array(String(characters).utf8), "tampered-\(place)")
      try await expectRefusal(alice, ["entitlement", "install", file], code: 1, saying: "entitlement")
    }
    let cut = try stage.write(Array(text.utf8.prefix(80)), "cut")
    try await expectRefusal(alice, ["entitlement", "install", cut], code: 1, saying: "entitlement")
    try await expectRefusal(
      alice, ["entitlement", "install", stage.path("none")], code: 1, saying: stage.path("none"))
    #expect(try await !alice.status().isPremium)
    try await alice.text("issuer", "trust", stranger.publicKey)
    try await alice.text("entitlement", "install", unknown)
    #expect(try await alice.status().isPremium)
  }

  @Test func `invalid arguments are named, and nothing is written`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = try await device(on: stage)
    try await expectRefusal(
      alice, ["trip", "show", "Rome"], code: 2, saying: "more than one trip", "Rome in May", "Rome in June")
    try await expectRefusal(alice, ["trip", "delete", "Oslo"], code: 8, saying: "no trip “Oslo”")
    try await expectRefusal(
      alice, ["trip", "add", "name=Oslo", "colour=red"], code: 2, saying: "colour", "name")
    try await expectRefusal(
      alice, ["trip", "add", "name=Oslo", "startDate=yesterday"], code: 2, saying: "startDate", "yesterday")
    try await expectRefusal(
      alice, ["lodging", "add", "trip=Rome in May", "name=X", "cost=a lot"], code: 2, saying: "cost", "a lot")
    try await expectRefusal(
      alice, ["habit", "add", "name=X", "colorHex=red"], code: 2, saying: "colorHex", "red")
    try await expectRefusal(
      alice, ["settings", "set", "colorScheme", "pink"], code: 2, saying: "colorScheme", "pink")
    try await expectRefusal(alice, ["statsu"], code: 2, saying: "waymark status")
    try await expectRefusal(alice, ["trip", "lst"], code: 2, saying: "waymark trip list")
    try await expectRefusal(alice, ["status", "--jsno"], code: 2, saying: "--jsno")
    try await expectRefusal(alice, ["organization", "delete", "None"], code: 2, saying: "None")
    try await expectRefusal(alice, ["peers", "pause", "nobody"], code: 8, saying: "nobody")
    try await expectRefusal(alice, ["wait"], code: 3, saying: "not run", "waymark run")
    try await expectRefusal(alice, ["sync", "now"], code: 3, saying: "not run", "waymark run")
  }
}
