import Testing

/// Answers are typed values: the library returns them, `--json` is their encoding, and the terminal renders them. Code
/// that looks into a document instead depends on the spelling of keys, which the compiler can't check.
struct DocumentReadTests {
  /// Modules that must not read documents by key.
  static let modules: Set = ["Control", "NodeOperations", "NodeRuntime", "Waymark", "WaymarkCommand"]

  /// Dictionaries that are not answers: variables of the environment, what a person or another program wrote as
  /// `name=value`, and the request that a command line becomes.
  static let others: Set = ["environment", "values", "request"]

  @Test func `no answer is read by a string key`() throws {
    for file in try Repository.sources() where Self.modules.contains(file.module) {
      for (number, line) in file.lines.enumerated() {
        for read in reads(in: String(line)) {
          Issue.record("\(file):\(number + 1) reads a document: \(read)")
        }
      }
    }
  }

  @Test(
    arguments: [
      (#"let amount = self["amount"]?.string"#, 1), (#"if row["id"] == nil, answer?["on"] != nil {"#, 2),
      (#"case .money(let name): record[name]?.integer"#, 1), (#"record[$0]?.array ?? []"#, 1),
      (#"members.first { $0.key == "deletedAt" }?.value"#, 1),
      (#"json["qr"] = .array(rows)"#, 0), (#"rejected["early", default: 0] += 1"#, 0),
      (#"environment["HOME"] ?? values["--home"]"#, 0), (#"words: ["peers", "list"]"#, 0),
      (#"/// `self["amount"]`"#, 0), (#"titles[key]?.name"#, 0),
    ])
  func `reads are recognised`(line: String, count: Int) {
    #expect(reads(in: line).count == count)
  }

  /// Returns the places in a line that read the value of a key: by a string, or by a variable if the value is then
  /// converted as values of JSON are.
  private func reads(in line: String) -> [String] {
    guard hasSubscript(line) || line.contains(".key == "), !line.drop(while: { $0 == " " }).hasPrefix("//")
    else { return [] }
    let byString = /([\w\)\]]+)[?!]?\["[^"]*"\](?! = )/
    let byVariable =
      /([\w\)\]]+)[?!]?\[[\w.$]+\]\??\.(?:string|number|integer|float|boolean|array|members|isNull)\b(?!\()/
    let byMember = /\$0\.key == "/
    let reads = (line.matches(of: byString) + line.matches(of: byVariable)).filter {
      !Self.others.contains(String($0.output.1))
    }
    return (reads.map(\.output.0) + line.matches(of: byMember).map(\.output)).map(String.init)
  }

  /// Whether a bracket follows a value. Decides quickly for most lines, because the regular expressions are slow.
  private func hasSubscript(_ line: String) -> Bool {
    let bytes = Array(line.utf8)
    return bytes.indices.dropFirst().contains { index in
      bytes[index] == UInt8(ascii: "[") && !" ([{,:".utf8.contains(bytes[index - 1])
    }
  }
}
