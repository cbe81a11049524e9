import Foundation
import Processes
import Testing

/// The planted bugs that the simulator has to find: Tests/Faults/Mutants.
@Suite struct MutantTests {
  private static let folder = Repository.root.appending(path: "Tests/Faults/Mutants")

  private static func patches() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".patch") }
      .sorted()
  }

  @Test func `each planted bug says in its first line what it breaks`() throws {
    let patches = try Self.patches()
    #expect(patches.count >= 45)
    for name in patches {
      let text = try String(contentsOf: Self.folder.appending(path: name), encoding: .utf8)
      let first = text.prefix { $0 != "\n" }
      #expect(first.hasPrefix("# ") && first.hasSuffix("."), "\(name): \(first)")
    }
  }

  @Test func `each planted bug applies to the current sources`() async throws {
    let git = URL(filePath: "/usr/bin/git")
    guard FileManager.default.isExecutableFile(atPath: git.path),
      FileManager.default.fileExists(atPath: Repository.root.appending(path: ".git").path)
    else { return print("skipped: no git, or no work tree") }
    for name in try Self.patches() {
      let said = FileManager.default.temporaryDirectory.appending(path: "waymark-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: said) }
      let patch = Self.folder.appending(path: name).path
      let child = try Child(
        git, ["-C", Repository.root.path, "apply", "--check", patch],
        environment: ProcessInfo.processInfo.environment, input: nil, output: said, errors: said)
      let code = try await child.wait(seconds: 20, for: "git apply --check \(name)")
      #expect(code == 0, "\(name): \((try? String(contentsOf: said, encoding: .utf8)) ?? "")")
    }
  }
}
