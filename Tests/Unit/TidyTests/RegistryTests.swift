import Foundation
import Records
import Replication
import Testing
import Wire

@testable import Membership
@testable import Model
@testable import SecureChannel

/// `Protocol/registries.md`, compared with the code in both directions.
struct RegistryTests {
  /// A section whose first table lists numbers and names, and what the code assigns.
  struct Register: Sendable, CustomTestStringConvertible {
    let section: String
    let code: [Int: String]
    var testDescription: String { section }
  }

  static let registers = [
    Register(section: "Lanes", code: raw(Lane.self)),
    Register(section: "Entry types", code: raw(EntryType.self)),
    Register(
      section: "Statement kinds",
      code: Dictionary(uniqueKeysWithValues: StatementKind.allCases.map { (Int($0.rawValue), $0.name) })),
    Register(section: "Roles", code: raw(Role.self)),
    Register(
      section: "Purposes of files here",
      code: Dictionary(
        uniqueKeysWithValues: (0...255).compactMap { number in
          FilesHere.Role(rawValue: number).map { (number, words("\($0)")) }
        })),
    Register(section: "Reasons", code: raw(ReasonCode.self)),
    Register(section: "Join refusals", code: raw(JoinRefusal.self)),
    Register(section: "Fragment headers", code: raw(FragmentHeader.self)),
  ]

  @Test(arguments: registers)
  func `a section lists the numbers and names that the code assigns`(register: Register) throws {
    #expect(try assigned(register.section) == register.code)
  }

  @Test func `the message tags are those that the code sends`() throws {
    var tags: [Int: String] = [:]
    for file in ["Message+CBOR", "FileMessage"] {
      let source = try Repository.text("Sources/Replication/\(file).swift")
      let body = try #require(source.firstMatch(of: /enum Tag \{(?s:.*?)\n  \}/)).output
      for match in body.matches(of: /static let (\w+) = (\d+)\n/) where match.output.1 != "knownMax" {
        tags[try #require(Int(match.output.2))] = Self.words(String(match.output.1))
      }
    }
    #expect(try assigned("Message tags") == tags)
  }

  @Test func `the questions are those that the code asks`() throws {
    let source = try Repository.text("Sources/Replication/Questions+CBOR.swift")
    var questions: [Int: String] = [:]
    for match in source.matches(of: /static let (\w+): UInt64 = (\d+)/) {
      questions[try #require(Int(match.output.2))] = String(match.output.1)
    }
    #expect(try assigned("Questions") == questions)
  }

  @Test func `the record kinds have the lanes and merge classes of the code`() throws {
    let rows = try Set(table("Record kinds").rows)
    let kinds = Records.Schema.builtIn.kinds.map { kind in
      let merge = kind.number.mergeClass == .wholeRecord ? "the whole record" : "field by field"
      return ["\(kind.number.rawValue)", "`\(kind.name)`", "\(kind.number.lane)", merge]
    }
    #expect(rows == Set(kinds))
  }

  @Test func `the versions and marks are those of the code`() throws {
    var listed: [String: String] = [:]
    for row in try table("Versions and marks").rows { listed[row[0]] = Self.name(row[1]) }
    let magic = Preamble.magic.map { hexadecimal([$0]) }.joined(separator: " ")
    #expect(
      listed == [
        "magic of a preamble": magic,
        "preamble version": "\(Preamble.currentVersion)",
        "change set version": "\(ChangeSetHeader.version)",
        "version of a statement, a ticket, an introduction, a join request or a join reply":
          "\(MapReader.version)",
        "beacon version": "\(Beacon.version)",
        "version of an announcement of a code": "\(CodeAnnouncement.version)",
        "beginning of a ticket": Ticket.mark,
      ])
  }

  @Test func `the prefixes are those of the code`() throws {
    // A proof carries the signatures of headers, so these two texts are never used.
    let proofs: Set<StatementKind> = [.forkProof, .branchProof]
    let literals = try strings(in: Self.program, after: ["\"waymark/"]).filter { !$0.contains("\\(") }
    var prefixes = Set(literals.map { "waymark/\($0.replacing("\\0", with: ""))" })
    // Newer kinds share the prefix with the number.
    for kind in StatementKind.allCases where !proofs.contains(kind) && kind.prefixName == kind.name {
      prefixes.insert(Self.signaturePrefix(kind.rawValue))
    }
    prefixes.insert(Self.signaturePrefix(63).replacing("63", with: "<number>"))
    try expectNames("Prefixes", prefixes)
  }

  @Test func `the verbs are those that the code writes`() throws {
    // Verbs are texts, so they are found where the code passes them.
    let verbs = try strings(
      in: Self.program,
      after: [
        " write(\"", ".write(\"", " verb: \"", "(verb: \"", " plan(\"", "undoVerb = \"",
        "resolutionVerb = \"",
        "_ label: String = \"", "as verb: String = \"", " as: \"",
      ])
    try expectNames("Verbs", Set(verbs.map { $0.replacing("\\(kind.name)", with: "KIND") }))
  }

  @Test func `the setting keys have the types and values of the code`() throws {
    let rows = try table("Setting keys").rows
    #expect(Set(rows.map { Self.name($0[0]) }) == Set(KnownPreference.all.map(\.key)))
    for row in rows {
      let known = try #require(KnownPreference.named(Self.name(row[0])))
      let types = Set(row[1].split(separator: " or ").map(String.init))
      var listed: [Value] = row[2].matches(of: /`([\w:-]+)`/).map { .text(String($0.output.1)) }
      if row[2] == "true, false" { listed += [.bool(true), .bool(false)] }
      if let range = row[2].firstMatch(of: /(\d+) to (\d+)/) {
        let (first, last) = (try #require(Int64(range.output.1)), try #require(Int64(range.output.2)))
        listed += [.integer(first), .integer(last)]
        for outside in [first - 1, last + 1] { #expect(known.checked(.integer(outside)) == nil, "\(row)") }
      }
      #expect(!listed.isEmpty)
      for value in listed { #expect(known.checked(value) != nil, "\(row) does not allow \(value)") }
      #expect(Set(listed.map(Self.type)) == types, "\(row)")
      #expect(known.checked(.text("nothing that is listed")) == nil, "\(row)")
      for other: Value in [.bool(true), .integer(1), .text("never")] where !types.contains(Self.type(other)) {
        #expect(known.checked(other) == nil, "\(row) allows \(other)")
      }
    }
  }

  @Test func `the plans and sources are those of the entitlements that the code signs`() throws {
    let signers = Self.program.filter { $0.code.contains("Entitlement(") }
    try expectNames("Plans", strings(in: signers, after: [" plan: \""]))
    let sources = try strings(in: signers, after: [" source: \""])
    try expectNames("Sources", sources.union([PremiumSource.mock, .allFeatures].map(\.rawValue)))
  }

  @Test func `the keys of maps are those of the schema`() throws {
    var keys: [String: Set<Int>] = [:]
    for match in try schema().matches(of: /\n([\w-]+) = \{(?s:(.*?))\}/) {
      var body = String(match.output.2)
      body = body.replacing("signed,", with: "0 => 1 => 2 =>").replacing("version,", with: "0 =>")
      keys[String(match.output.1)] = Set(body.matches(of: /[\s(](\d+) =>/).compactMap { Int($0.output.1) })
    }
    let replies = ["accepted-join", "refused-join"].compactMap { keys.removeValue(forKey: $0) }
    #expect(replies.count == 2)
    keys["join-reply"] = Set(replies.joined())
    // Maps that are no part of the protocol by themselves: a shape of the vectors, and a part of a header.
    for other in ["map-of-values", "proof-header"] {
      let removed = keys.removeValue(forKey: other)
      #expect(removed != nil, "\(other)")
    }
    var listed: [String: Set<Int>] = [:]
    for row in try table("Keys of maps").rows {
      listed[Self.name(row[0])] = Set(try numbers(row[1]).joined())
    }
    for map in Set(listed.keys).union(keys.keys).sorted() { #expect(listed[map] == keys[map], "\(map)") }
  }

  @Test func `the flags are those of the schema`() throws {
    let flags = try schema().matches(of: /\ (\w+): (?:bool|true|false)/).map { String($0.output.1) }
    try expectNames("Flags of messages", Set(flags))
  }

  @Test(arguments: registers.map(\.section) + ["Message tags", "Questions", "Record kinds"])
  func `every number of a section is assigned or has a status`(section: String) throws {
    let assigned = Set(try assigned(section).keys)
    var others: Set<Int> = []
    for row in try table(section, heading: "Range").rows {
      let status = row[1].prefix { $0.isLetter }
      #expect(["reserved", "free", "closed"].contains(status), "\(row)")
      let range = Set(try numbers(row[0]).joined())
      if status == "free" { #expect(range.isDisjoint(with: assigned), "\(row)") }
      others.formUnion(range)
    }
    let all = Set(0...(section == "Fragment headers" ? Int(UInt8.max) : Self.greatest))
    #expect(all.subtracting(assigned).subtracting(others).min() == nil, "a number without a status")
  }

  // MARK: The page

  private static let greatest = 70_000
  private static let tables = Result { try Tables(Repository.text("Protocol/registries.md")) }

  private func table(_ section: String, heading: String? = nil) throws -> Table {
    let tables = try #require(try Self.tables.get().sections[section], "no section \(section)")
    return try #require(tables.first { heading == nil || $0.heading == heading }, "no table in \(section)")
  }

  /// The first two columns of a section's first table, as numbers and names.
  private func assigned(_ section: String) throws -> [Int: String] {
    var found: [Int: String] = [:]
    for row in try table(section).rows {
      let number = try #require(Int(row[0]), "\(row)")
      #expect(found[number] == nil, "\(number) twice")
      found[number] = Self.name(row[1])
    }
    return found
  }

  private func expectNames(_ section: String, _ code: Set<String>) throws {
    let names = try table(section).rows.map { Self.name($0[0]) }
    #expect(Set(names).count == names.count, "a name twice in \(section)")
    for name in code.symmetricDifference(names).sorted() {
      #expect(code.contains(name), "\(section): the code does not know \(name)")
      #expect(names.contains(name), "\(section): the page lacks \(name)")
    }
  }

  /// `0, 2 – 4` as ranges; `9 and above` ends at a number that is greater than all that are assigned.
  private func numbers(_ text: String) throws -> [ClosedRange<Int>] {
    let ranges = try text.matches(of: /(\d+)(?: – (\d+)| (and above))?/).map { match in
      let first = try #require(Int(match.output.1))
      let last = match.output.3 == nil ? match.output.2.flatMap { Int($0) } ?? first : Self.greatest
      return first...last
    }
    return try #require(ranges.isEmpty ? nil : ranges, "no number in “\(text)”")
  }

  private static func name(_ cell: String) -> String { cell.trimmingCharacters(in: ["`"]) }

  // MARK: The code

  private static let program =
    (try? Repository.sources().filter { !["Simulation", "SimulatorCommand"].contains($0.module) }) ?? []

  /// The texts that follow one of these beginnings, up to the quotation mark that ends them.
  private func strings(in files: [Repository.File], after beginnings: [String]) throws -> Set<String> {
    var found: Set<String> = []
    for file in files {
      for beginning in beginnings where file.text.holds(beginning) {
        let parts = file.text.split(separator: beginning, omittingEmptySubsequences: false)
        for part in parts.dropFirst() { found.insert(String(part.prefix { $0 != "\"" })) }
      }
    }
    return try #require(found.isEmpty ? nil : found)
  }

  private func schema() throws -> String { try Repository.text("Protocol/waymark.cddl") }

  private static func raw<Code: RawRepresentable<UInt8>>(_: Code.Type) -> [Int: String] {
    let codes = (0...UInt8.max).compactMap(Code.init(rawValue:))
    return Dictionary(uniqueKeysWithValues: codes.map { (Int($0.rawValue), words("\($0)")) })
  }

  /// `not a member` for `notAMember`.
  private static func words(_ name: String) -> String {
    let parts = name.replacing("IDs", with: "Ids").map { $0.isUppercase ? " \($0.lowercased())" : "\($0)" }
    return parts.joined()
  }

  private static func signaturePrefix(_ kind: UInt8) -> String {
    String(decoding: Prefix.signature(ofKind: kind).bytes.dropLast(), as: UTF8.self)
  }

  private static func type(_ value: Value) -> String {
    switch value {
    case .bool: "bool"
    case .integer: "integer"
    case .text: "text"
    default: "another type"
    }
  }
}

/// A table of a page.
private struct Table: Sendable {
  /// The heading of the first column.
  let heading: String
  var rows: [[String]]
}

/// The tables of a page by the heading of their section.
private struct Tables: Sendable {
  private(set) var sections: [String: [Table]] = [:]

  init(_ page: String) {
    var section = ""
    var open: Table?
    let lines: [Substring] = page.split(separator: "\n", omittingEmptySubsequences: false)
    for line in lines + [""] {
      if line.hasPrefix("|") {
        let cells = line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false)
          .map { $0.trimmingCharacters(in: .whitespaces) }
        if open == nil {
          open = Table(heading: cells[0], rows: [])
        } else if !line.hasPrefix("|--") {
          open?.rows.append(cells)
        }
      } else if let table = open {
        sections[section, default: []].append(table)
        open = nil
      }
      if line.hasPrefix("#") { section = line.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces) }
    }
  }
}
