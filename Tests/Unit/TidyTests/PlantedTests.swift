import Foundation
import Testing

/// The mistakes that Tests/Faults/Planted plants in the shell.
@Suite struct PlantedTests {
  private struct Mistake {
    let name: String
    let sentence: String
    let path: String
    let original: String
    let replacement: String
  }

  private static let folder = Repository.root.appending(path: "Tests/Faults/Planted/Catalogue")

  private static func mistakes() throws -> [Mistake] {
    var found: [Mistake] = []
    for area in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() {
      let text = try String(contentsOf: folder.appending(path: area), encoding: .utf8)
      // What comes before the first entry names the tests of the area.
      for entry in ("\n" + text).components(separatedBy: "\n# ").dropFirst() {
        found.append(try #require(mistake(entry), "\(area): \(entry.prefix(60))"))
      }
    }
    return found
  }

  private static func mistake(_ entry: String) -> Mistake? {
    let parts = entry.components(separatedBy: "\n<<<\n")
    guard parts.count == 2 else { return nil }
    var head = parts[0].components(separatedBy: "\n")
    // The tests that are likely to find it.
    if head.count == 4, head[2].hasPrefix("tests ") { head.remove(at: 2) }
    let texts = parts[1].components(separatedBy: "\n===\n")
    guard head.count == 3, head[2].hasPrefix("in "), texts.count == 2,
      let end = texts[1].range(of: "\n>>>")
    else { return nil }
    return Mistake(
      name: head[0], sentence: head[1], path: String(head[2].dropFirst(3)), original: texts[0],
      replacement: String(texts[1][..<end.lowerBound]))
  }

  @Test func `each planted mistake says in a sentence what it breaks`() throws {
    let mistakes = try Self.mistakes()
    #expect(mistakes.count >= 64)
    #expect(Set(mistakes.map(\.name)).count == mistakes.count)
    for mistake in mistakes {
      let isSentence = mistake.sentence.first?.isUppercase == true && mistake.sentence.hasSuffix(".")
      #expect(isSentence, "\(mistake.name): \(mistake.sentence)")
    }
  }

  @Test func `each planted mistake replaces a text that its source has once`() throws {
    for mistake in try Self.mistakes() {
      let source = Repository.root.appending(path: mistake.path)
      let text = try String(contentsOf: source, encoding: .utf8)
      #expect(text.components(separatedBy: mistake.original).count == 2, "\(mistake.name)")
      #expect(mistake.replacement.contains("PLANTED"), "\(mistake.name) can't be switched off")
    }
  }
}
