import Foundation
import Testing

struct DocumentTests {
  @Test func `every link in a document has a target`() throws {
    for file in try Repository.files(ending: ".md") {
      for match in file.text.matches(of: /\]\(([^)\s]+)\)/) {
        let target = String(match.output.1)
        if target.contains("://") || target.hasPrefix("mailto:") { continue }
        let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let page = parts[0].isEmpty ? file.path : "\(file.folder)/\(parts[0])"
        let url = Repository.root.appending(path: page)
        // DocC finds an image by its name, in the folder Resources of its catalog.
        let resource = Repository.root.appending(path: "\(file.folder)/Resources/\(parts[0])")
        let isThere = [url, resource].contains { FileManager.default.fileExists(atPath: $0.path) }
        #expect(isThere, "\(file) links to \(target)")
        if parts.count == 2, page.hasSuffix(".md") {
          let anchors = try headings(of: String(contentsOf: url, encoding: .utf8))
          #expect(anchors.contains(String(parts[1])), "\(file) links to \(target)")
        }
      }
    }
  }

  /// The anchors of a page's headings, spelt as the usual renderers spell them.
  private func headings(of text: String) -> Set<String> {
    Set(
      text.split(separator: "\n").filter { $0.hasPrefix("#") }.map { line in
        let words = line.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces).lowercased()
        return String(
          words.compactMap { $0 == " " ? "-" : $0.isLetter || $0.isNumber || $0 == "-" ? $0 : nil })
      })
  }

  /// `name = 256 * 1024` in Limits.swift, evaluated.
  private func limitsInSource() throws -> [String: Int] {
    let source = codeOnly(try Repository.text("Sources/Wire/Limits.swift"))
    var limits: [String: Int] = [:]
    for match in source.matches(of: /static let (\w+)(?:: \w+)? = ([\d_ *]+)/) {
      let factors = match.output.2.split(separator: "*").compactMap {
        Int($0.filter(\.isNumber))
      }
      limits[String(match.output.1)] = factors.reduce(1, *)
    }
    return limits
  }

  @Test func `the page of limits lists the values of the source`() throws {
    var listed: [String: Int] = [:]
    for match in try Repository.text("Protocol/limits.md").matches(of: /\| `(\w+)` \| ([\d,]+) \|/) {
      listed[String(match.output.1)] = Int(match.output.2.filter(\.isNumber))
    }
    let source = try limitsInSource()
    #expect(!source.isEmpty)
    for name in Set(source.keys).union(listed.keys).sorted() {
      #expect(source[name] == listed[name], "\(name) in Sources/Wire/Limits.swift and Protocol/limits.md")
    }
  }

  @Test func `every limit is used`() throws {
    let code = try Repository.sources().filter { $0.path != "Sources/Wire/Limits.swift" }
      .map { $0.code }.joined()
    for name in try limitsInSource().keys.sorted() {
      let isUsed = code.holds("Limits.\(name)")
      #expect(isUsed, "\(name) is not used")
    }
  }

  /// The names of all tests: sentences in Swift, functions in Python.
  private func namesOfTests() throws -> Set<String> {
    var names: Set<String> = []
    for file in try Repository.files(in: "Tests", ending: ".swift") {
      for line in file.lines where line.holds("func `") {
        for match in line.matches(of: /func `([^`]+)`/) { names.insert("\(file.stem) “\(match.output.1)”") }
      }
    }
    for file in try Repository.files(in: "Tests", ending: ".py") {
      for match in file.text.matches(of: /def (\w+)\(/) {
        let sentence = match.output.1.replacing("_", with: " ")
        names.insert("\(file.stem) “\(sentence)”")
      }
    }
    return names
  }

  @Test func `each guarantee of the threat model names tests that exist`() throws {
    let names = try namesOfTests()
    let rows = try Repository.text("Sources/threat-model.md").split(separator: "\n")
      .filter { $0.wholeMatch(of: /\| [A-Z]\d+ \|.*/) != nil }
    #expect(rows.count > 20)
    for row in rows {
      let shown = row.split(separator: "|").last.map(String.init) ?? ""
      let tests = shown.matches(of: /\w+ “[^”]+”/).map { String($0.output) }
      #expect(!tests.isEmpty, "\(row)")
      for test in tests { #expect(names.contains(test), "\(test)") }
    }
  }
}
