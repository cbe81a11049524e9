import Foundation
import Testing

struct SourceTests {
  /// Time, randomness and the outside world: pure modules take them as arguments.
  static let impure = [
    "Foundation", "Date(", "UUID(", ".random(", ".shuffled(", ".randomElement(", "ContinuousClock",
    "SuspendingClock", "SystemRandomNumberGenerator", "DispatchQueue", "getenv", "Task.sleep", "Task {",
    "print(",
  ]

  @Test func `pure modules use no clock, randomness or input and output`() throws {
    let modules = try Arrows().modules
    // The engine has a store, so it is not pure; but time and randomness are arguments there too.
    for file in try Repository.sources()
    where modules[file.module]?.isPure == true || file.module == "Engine" {
      let code = file.code
      for name in Self.impure {
        expectAbsent(name, in: code, "\(file) uses \(name)")
      }
    }
  }

  /// VirtualDisk implements what SQLite calls.
  @Test(
    arguments: [("sqlite3_", ["SQLite", "VirtualDisk"]), ("crypto_", ["Sodium"]), ("sodium_", ["Sodium"])])
  func `one module calls each C library`(prefix: String, owners: [String]) throws {
    for file in try Repository.sources() where !owners.contains(file.module) {
      expectAbsent(prefix, in: file.code, "\(file) calls \(prefix)…")
    }
  }

  /// The files that may differ by platform. FileCalls.swift takes the place of functions of the C library. In X509, they
  /// differ by the library that verifies certificates; the keychain exists on Apple platforms only.
  static let platformFiles: Set = [
    "Sources/Platform/Platform.swift", "Sources/WaymarkModels/SwiftUI.swift",
    "Sources/X509/AppleSecurity.swift", "Sources/X509/OpenSSL.swift",
    "Sources/X509/Unavailable.swift", "Sources/Home/Keys/Keychain.swift",
    "Sources/Waymark/KeychainExport.swift", "Tests/Faults/Histories/Runner/FileCalls.swift",
  ]

  @Test func `one file knows the operating system`() throws {
    let condition = /#(?:if|elseif)\b[^\n]*\b(?:os|canImport|arch|targetEnvironment)\s*\(/
    for file in try swiftFiles(with: ["#if", "#elseif", "Glibc", "Darwin"])
    where !Self.platformFiles.contains(file.path) {
      let hasCondition = file.code.contains(condition)
      #expect(
        !hasCondition, "\(file) has a condition on a platform: move it to Sources/Platform/Platform.swift")
      #expect(
        Set(imports(in: file.code)).isDisjoint(with: ["Glibc", "Darwin"]),
        "\(file) imports the C library of one platform: import Platform")
    }
    for file in try Repository.files(in: "Sources", ending: ".h") where file.folder != "Sources/CPlatform" {
      let hasCondition = ["__linux__", "__APPLE__"].contains { file.text.contains($0) }
      #expect(!hasCondition, "\(file) has a condition on a platform: move it to Sources/CPlatform")
    }
    for path in Self.platformFiles {
      let differs = codeOnly(try Repository.text(path)).contains(condition)
      #expect(differs, "\(path) does not differ by platform")
    }
  }

  /// On Linux, one import of Foundation anywhere links all of it, with 40 MB of language data.
  @Test func `only files that differ by platform import Foundation`() throws {
    for file in try Repository.sources() where !Self.platformFiles.contains(file.path) {
      let names = imports(in: file.code).filter { $0.hasPrefix("Foundation") }
      #expect(
        names.isEmpty,
        "\(file) imports \(names): import Platform, which exports what the program may use of it")
    }
  }

  /// A statement that a full disk does not keep would be lost at the next start.
  @Test func `operations add statements where the disk is checked`() throws {
    for file in try Repository.sources() where file.module == "NodeOperations" {
      expectAbsent(".statementsAdded", in: file.code, "\(file) adds statements itself: use NodeCore.add")
    }
  }

  /// On Apple platforms `fsync` does not make anything durable.
  @Test func `one file calls fsync`() throws {
    for file in try swiftFiles(with: ["sync("]) where file.path != "Sources/Platform/Platform.swift" {
      let callsSync = file.code.contains(/\bf(?:data)?sync\(/)
      #expect(!callsSync, "\(file) calls fsync: use syncFile or syncDirectory of Platform")
    }
  }

  /// The Swift files of all folders with one of these texts, because scanning all of them takes long.
  private func swiftFiles(with texts: [String]) throws -> [Repository.File] {
    try ["Sources", "Tests", "examples"].flatMap { Repository.paths(in: $0, ending: ".swift") }
      .compactMap { path in
        let text = try Repository.text(path)
        guard texts.contains(where: { text.holds($0) }) else { return nil }
        return Repository.File(path: path, text: text)
      }
  }

  @Test(arguments: ["try!", "as!", "fatalError(", "assertionFailure(", "unsafeBitCast", "-Ounchecked"])
  func `nothing ends the process on bad input`(name: String) throws {
    for file in try Repository.sources() {
      expectAbsent(name, in: file.code, "\(file) uses \(name)")
    }
  }

  @Test func `no optional is force-unwrapped`() throws {
    for file in try Repository.sources() {
      for (number, line) in file.code.split(separator: "\n", omittingEmptySubsequences: false)
        .enumerated() where line.holds("!") && line.contains(/[\w\)\]]!(?:[\s.,;:\)\]\}]|$)/)
      {
        Issue.record("\(file):\(number + 1) unwraps by force: \(line)")
      }
    }
  }

  @Test(arguments: ["TODO", "FIXME", "XXX"])
  func `no work is postponed in a comment`(word: String) throws {
    for file in try Repository.sources() {
      expectAbsent(word, in: file.text, "\(file) contains \(word)")
    }
  }

  @Test func `a file that implements a chapter names an existing one`() throws {
    for file in try Repository.sources() {
      guard let first = file.lines.first, first.hasPrefix("// Protocol/") else { continue }
      for match in first.matches(of: /Protocol\/[\w\/.-]+?\.md/) {
        let path = Repository.root.appending(path: String(match.output)).path
        #expect(FileManager.default.fileExists(atPath: path), "\(file) names \(match.output)")
      }
    }
  }

  @Test func `the top level holds only expected files`() throws {
    let known: Set = [
      "Package.swift", "Sources", "Tests", "Protocol", "examples", "Makefile", "README.md", "LICENSE",
      "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md",
    ]
    let found = try FileManager.default.contentsOfDirectory(atPath: Repository.root.path)
    #expect(found.filter { !$0.hasPrefix(".") && !known.contains($0) } == [])
  }

  /// Unlike an expectation on the text itself, this does not print the whole file.
  private func expectAbsent(_ name: String, in text: String, _ message: Comment) {
    let isAbsent = !text.holds(name)
    #expect(isAbsent, message)
  }
}
