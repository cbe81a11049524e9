import Foundation
import Testing

/// The table of modules in Sources/README.md: the allowed imports.
struct Arrows {
  struct Module {
    let name: String
    let imports: Set<String>
    let system: Set<String>
    let isPure: Bool
  }

  let modules: [String: Module]

  /// Reads the rows `| Wire | imports | system modules | pure |` of the table.
  init() throws {
    let rows = try Repository.text("Sources/README.md").split(separator: "\n")
      .map { $0.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast() }
      .filter { $0.count == 5 }
      .map { $0.map { $0.trimmingCharacters(in: .whitespaces) } }
    func names(_ cell: String) -> Set<String> {
      Set(cell.matches(of: /\w+/).map { String($0.output) })
    }
    var modules: [String: Module] = [:]
    for row in rows where FileManager.default.fileExists(atPath: "\(Repository.root.path)/Sources/\(row[0])")
    {
      modules[row[0]] = Module(
        name: row[0], imports: names(row[2]), system: names(row[3]), isPure: row[4] == "pure")
    }
    self.modules = modules
  }
}

/// The modules that a source file imports, whatever access level and attributes the imports have.
func imports(in code: String) -> [String] {
  let pattern =
    /\s*(?:@[\w]+(?:\([^)]*\))?\s+)*(?:public |package |internal |private |fileprivate )?import (?:struct |class |enum |func |protocol |var |let |typealias )?(\w+)/
  return code.split(separator: "\n").filter { $0.holds("import ") }
    .compactMap { line in line.prefixMatch(of: pattern).map { String($0.output.1) } }
}

struct ArrowTests {
  @Test func `every module is in the table of modules`() throws {
    // Pages about the program are next to the modules.
    let folders = try FileManager.default.contentsOfDirectory(atPath: "\(Repository.root.path)/Sources")
      .filter { !$0.hasPrefix(".") && !$0.hasSuffix(".md") }
    #expect(Set(folders) == Set(try Arrows().modules.keys))
  }

  @Test func `no source file violates the table with an import`() throws {
    let arrows = try Arrows()
    for file in try Repository.sources() {
      let module = try #require(arrows.modules[file.module], "\(file) belongs to no module in the table")
      for name in imports(in: file.code) {
        #expect(module.imports.union(module.system).contains(name), "\(file) imports \(name)")
      }
    }
  }

  @Test func `the package declares the dependencies in the table`() throws {
    // A dependency with a condition is one all the same.
    let manifest = try Repository.text("Package.swift")
      .replacing(/\.target\(name: ("\w+"), condition: \.when\([^)]*\)\)/) { $0.output.1 }
    let arrows = try Arrows()
    let target = /(?:pure|shell|executableTarget)\(\s*(?:name: )?"(\w+)",\s*(?:dependencies: )?\[([^\]]*)\]/
    for match in manifest.matches(of: target) {
      guard let module = arrows.modules[String(match.output.1)] else { continue }
      let dependencies = Set(match.output.2.matches(of: /\w+/).map { String($0.output) })
      #expect(dependencies == module.imports, "\(module.name) in Package.swift and in Sources/README.md")
    }
  }

  /// Otherwise a build on many cores passes or fails depending on what is compiled first.
  @Test func `every target of the package lists each module that it imports`() throws {
    let manifest = try Repository.text("Package.swift")
    let target = /(\w+)\(\s*(?:name: )?"(\w+)",\s*(?:dependencies: )?\[([^\]]*)\](?:,\s*\w+: "([^"]*)")?/
    let targets = manifest.matches(of: target).filter { $0.output.1 != "trait" }
    let names = Set(targets.map { String($0.output.2) })
    #expect(names.isSuperset(of: ["Wire", "WaymarkCommand", "FuzzTargets", "WaymarkTests"]))
    for match in targets {
      let name = String(match.output.2)
      let listed = Set(match.output.3.matches(of: /\w+/).map { String($0.output) })
      let place = match.output.4.map(String.init)
      let folder = match.output.1 == "tests" ? "Tests/\(place ?? "Unit")/\(name)" : place ?? "Sources/\(name)"
      let imported = try Repository.files(in: folder, ending: ".swift").flatMap { imports(in: $0.code) }
      #expect(!imported.isEmpty || listed.isEmpty, "\(folder) has no sources")
      for module in Set(imported).intersection(names).subtracting([name]) {
        #expect(listed.contains(module), "\(name) imports \(module)")
      }
    }
  }

  @Test func `every module is used by another one or is a product`() throws {
    let products: Set = [
      "Waymark", "WaymarkCare", "WaymarkCommand", "WaymarkFiles", "WaymarkKinds", "WaymarkModels",
      "WaymarkTesting",
      "SimulatorCommand",
    ]
    let used = Set(
      try Repository.sources().flatMap { file in
        imports(in: file.code).filter { $0 != file.module }
      })
    for name in try Arrows().modules.keys where !products.contains(name) {
      #expect(used.contains(name), "nothing imports \(name)")
    }
  }
}
