import Foundation
import Testing

@Suite struct PrefixTests {
  private static var root: URL {
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
      .deletingLastPathComponent()
  }

  /// The prefixes of every source file, without their zero byte; a prefix used twice counts once.
  private func prefixes() throws -> Set<String> {
    let sources = Self.root.appending(path: "Sources")
    let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
    var found: Set<String> = []
    while let file = files?.nextObject() as? URL {
      guard file.pathExtension == "swift" else { continue }
      let text = try String(contentsOf: file, encoding: .utf8)
      for match in text.matches(of: /"(waymark\/[^"\n]*?\/v\d+)(?:\\0)?"/) {
        found.insert(String(match.output.1))
      }
    }
    return found
  }

  /// The prefixes of statement signatures, whose names are concatenated in the source.
  private let assembled = [
    "genesis", "device-certificate", "revocation", "log-cut", "entitlement", "issuers", "fork-proof",
    "addresses", "grant", "statement-10",
  ].map { "waymark/\($0)-signature/v1" }

  @Test func `no hash or signature prefix is the beginning of another`() throws {
    let prefixes = try prefixes().filter { !$0.contains("\\(") }.union(assembled)
    #expect(prefixes.count >= 20)
    let ended = prefixes.sorted().map { Array($0.utf8) + [0] }
    for (index, one) in ended.enumerated() {
      #expect(one.dropLast().allSatisfy { $0 > 32 && $0 < 127 })
      for other in ended[(index + 1)...] { #expect(!one.starts(with: other) && !other.starts(with: one)) }
    }
  }

  @Test func `a prefix of a former format is used for nothing else`() throws {
    #expect(try prefixes().isDisjoint(with: ["waymark/body/v1", "waymark/value/v1"]))
  }

  @Test func `every prefix is in the table of the chapter`() throws {
    let chapter = try String(
      contentsOf: Self.root.appending(path: "Protocol/encoding.md"), encoding: .utf8)
    for prefix in try prefixes() where !prefix.contains("\\(") {
      #expect(chapter.contains("`\(prefix)`"), "\(prefix)")
    }
  }
}
