import Foundation
import FuzzTargets
import Testing

struct CorpusTests {
  @Test(arguments: FuzzTarget.all.map(\.name))
  func `every input of the corpus runs to completion`(name: String) async throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let folder = Self.corpus.appending(path: name)
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(!files.isEmpty, "\(name) has no corpus")
    for file in files {
      let input = [UInt8](try Data(contentsOf: folder.appending(path: file)))
      do { try await target.run(input) } catch { Issue.record("\(name)/\(file): \(error)") }
    }
  }

  static let corpus = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
    .appending(path: "Faults/Fuzz/Corpus")
}
