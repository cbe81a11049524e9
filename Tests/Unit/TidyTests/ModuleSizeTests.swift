import Testing

/// Limits on the sizes of modules and of `Node`, so that a module is split, and code moved out of the actor, before
/// either is too large to review.
struct ModuleSizeTests {
  /// The lines that a module may have. The simulator, which checks everything else, may have more.
  static let linesMax = 9_000
  static let membersMax = 200
  static let filesMax = 30

  @Test func `no module has more than 9,000 lines`() throws {
    var lines: [String: Int] = [:]
    for file in try Repository.sources() { lines[file.module, default: 0] += file.lines.count - 1 }
    #expect(lines.count > 30, "the modules were not found")
    for (module, count) in lines where module != "Simulation" {
      #expect(
        count <= Self.linesMax,
        "\(module) has \(count) lines: split it where few symbols are used on both sides")
    }
  }

  @Test func `Node has fewer than 200 members in fewer than 30 files`() throws {
    var (members, files) = (0, 0)
    for file in try Repository.sources() {
      let count = nodeMembers(in: file.code)
      members += count
      if count > 0 { files += 1 }
    }
    let hint = "What a node does on request belongs in a type of NodeOperations."
    #expect(members > 0, "no member of Node was recognised")
    #expect(members < Self.membersMax, "Node has \(members) members. \(hint)")
    #expect(files < Self.filesMax, "Node is in \(files) files. \(hint)")
  }

  @Test func `members are recognised`() {
    let code = """
      public actor Node {
        public nonisolated let home: Home
        private(set) var page: Page?
        @available(*, deprecated) static subscript(name: String) -> Int { 1 }
        init() {
          let local = 1
        }
      }

      @MainActor private extension Node {
        @discardableResult
        public func save() throws -> Int {
          func nested() {}
          return 1
        }
      }

      extension Node.Other { func other() {} }
      extension NodeCore { func core() {} }
      """
    #expect(nodeMembers(in: code) == 5)
  }

  /// Counts the properties, functions and initialisers that a file declares on `Node`.
  private func nodeMembers(in code: String) -> Int {
    let opening = /^(?:@\w+(?:\([^)]*\))? )*(?:\w+ )*(?:actor|extension) (?:Waymark\.)?Node(?=[ :{])/
    let member =
      /^ *(?:@\w+(?:\([^)]*\))? )*(?:[a-z]+(?:\((?:set|unsafe)\))? )*(?:func|var|let|init|subscript)\b/
    var (depth, isInside, count) = (0, false, 0)
    for line in code.split(separator: "\n") {
      if depth == 0 { isInside = line.prefixMatch(of: opening) != nil }
      if depth == 1, isInside, line.prefixMatch(of: member) != nil { count += 1 }
      depth += line.count { $0 == "{" } - line.count { $0 == "}" }
    }
    if depth != 0, count > 0 {
      Issue.record("the braces of a file are not balanced, so its members can't be counted")
    }
    return count
  }
}
