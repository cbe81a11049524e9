import Foundation
import Processes
import Testing

/// What devices answer when people use them, in `Tests/Fixtures/Transcripts/`. A transcript is performed again and must
/// be the same; `WAYMARK_GOLDEN=write` records the present answers, to be read before they are committed.
struct TranscriptTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Fixtures/Transcripts")

  static let names = [
    "apart", "circle", "exchange", "files", "habits", "journey", "overrides", "recovery", "three",
  ]

  @Test(arguments: names, ["1", "2"])
  func `devices answer as they did, whatever order tasks have`(name: String, seed: String) async throws {
    let file = Self.folder.appending(path: "\(name).txt")
    let renewed = try await historyRunner("--seed", seed, "--transcript", file.path)
    if ProcessInfo.processInfo.environment["WAYMARK_GOLDEN"] == "write" {
      try renewed.write(to: file, atomically: true, encoding: .utf8)
    }
    let (old, new) = (lines(try String(contentsOf: file, encoding: .utf8)), lines(renewed))
    let differing = zip(old, new).enumerated().first { $1.0 != $1.1 }?.offset ?? min(old.count, new.count)
    let command = new.prefix(differing + 1).last { $0.hasPrefix("$ ") } ?? ""
    // Otherwise a failure would print both texts.
    let isSame = old == new
    #expect(
      isSame,
      "\(name).txt, line \(differing + 1), after “\(command)”: \(part(new, differing)) instead of \(part(old, differing))"
    )
  }

  @Test func `every transcript is performed`() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
    #expect(names.sorted() == Self.names.map { "\($0).txt" })
  }

  private func lines(_ text: String) -> [Substring] {
    text.split(separator: "\n", omittingEmptySubsequences: false)
  }

  private func part(_ lines: [Substring], _ start: Int) -> String {
    lines.dropFirst(start).prefix(3).map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: " ")
  }
}
