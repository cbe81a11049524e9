import Testing

/// Bounds on the sizes of modules and of `Node`, so that code finds a room of its own before a module or the actor
/// becomes the place for everything.
struct HouseTests {
  /// The lines that a module may have. The simulator, which checks everything else, may have more.
  static let linesMax = 9_000
  static let membersMax = 200
  static let filesMax = 30

  @Test func `no module is too large to know`() throws {
    var lines: [String: Int] = [:]
    for file in try Repository.sources() { lines[file.module, default: 0] += file.lines.count }
    for (module, count) in lines where module != "Simulation" {
      #expect(count <= Self.linesMax, "\(module) has \(count) lines: split it where few names cross")
    }
  }

  @Test func `the actor has only what it can't leave to others`() throws {
    var (members, files) = (0, 0)
    for file in try Repository.sources() {
      let count = nodeMembers(in: file.code)
      members += count
      if count > 0 { files += 1 }
    }
    let hint = "What a node does on request belongs in a type of NodeOperations."
    #expect(members < Self.membersMax && members > 100, "Node has \(members) members. \(hint)")
    #expect(files < Self.filesMax, "Node is in \(files) files. \(hint)")
  }

  @Test func `members are recognised`() {
    let code = """
      public actor Node {
        public nonisolated let home: Home
        private(set) var page: Page?
        init() {
          let local = 1
        }
      }

      extension Node {
        @discardableResult
        public func save() throws -> Int {
          func nested() {}
          return 1
        }
      }

      extension Node.Other { func other() {} }
      extension NodeCore { func core() {} }
      """
    #expect(nodeMembers(in: code) == 4)
  }

  /// Counts the properties, functions and initialisers that a file declares on `Node`.
  private func nodeMembers(in code: String) -> Int {
    let opening = /^(?:public |package )?(?:actor|extension) Node(?=[ :{])/
    let member =
      /^ *(?:@\w+ )?(?:(?:public|package|private|fileprivate|nonisolated|static)(?:\(set\))? )*(?:func|var|let|init)\b/
    var (depth, isInside, count) = (0, false, 0)
    for line in code.split(separator: "\n") {
      if depth == 0 { isInside = line.prefixMatch(of: opening) != nil }
      if depth == 1, isInside, line.prefixMatch(of: member) != nil { count += 1 }
      depth += line.count { $0 == "{" } - line.count { $0 == "}" }
    }
    return count
  }
}
