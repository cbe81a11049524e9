import JSONDocument
import Testing
import Waymark
import WaymarkCare

@testable import WaymarkCommand

/// What is typed with a meaning of its own: paths within fields, confirmations, options that are given again.
struct TypedPathTests {
  private func parse(_ line: String...) throws -> Invocation {
    try CommandParser(directory: "/here").parse(line)
  }

  @Test func `the path of a file in a field is absolute, and no other value is changed`() throws {
    #expect(
      try parse("attachment", "add", "file=a.txt", "file=/b.txt", "lodging=Casa").arguments["fields"]
        == [["file", "/here/a.txt"], ["file", "/b.txt"], ["lodging", "Casa"]])
    #expect(try parse("profile", "set", "avatar=me.png").arguments["fields"] == [["avatar", "/here/me.png"]])
    // Empty, it removes the picture.
    #expect(try parse("profile", "set", "avatar=").arguments["fields"] == [["avatar", ""]])
    #expect(
      try parse("trip", "add", "name=a", "notes=a/b").arguments["fields"] == [
        ["name", "a"], ["notes", "a/b"],
      ])
    let failure = #expect(throws: WaymarkError.self) { try parse("import", "") }
    #expect(failure?.exitCode == ExitCode.usage && failure?.message == "The path of a file is empty.")
  }

  @Test func `only the option confirms, and not a name that looks like it`() throws {
    #expect(try parse("trip", "delete", "Rome").arguments["yes"] == nil)
    let named = try parse("trip", "delete", "--", "--yes")
    #expect(named.arguments["id"] == "--yes" && named.arguments["yes"] == nil && !named.options.yes)
    let confirmed = try parse("--yes", "trip", "delete", "Rome")
    #expect(confirmed.arguments == ["id": "Rome", "yes": true] && confirmed.options.yes)
  }

  @Test func `of several homes the last one counts, and each takes the word after it`() throws {
    #expect(try parse("--home", "a", "status", "--home=/b").options.home == "/b")
    let odd = try parse("--home", "--json", "status")
    #expect(odd.options.home == "/here/--json" && !odd.options.json && odd.words == ["status"])
  }

  @Test(
    arguments: [
      (["status", "--json"], true), (["--json", "nonsense"], true),
      (["trip", "show", "--", "--json"], false),
      (["trip", "show", "json"], false), ([], false),
    ] as [([String], Bool)])
  func `an error is a document if the command line asks for JSON, even one that can't be parsed`(
    line: [String], isAsked: Bool
  ) {
    #expect(ErrorDocument.isAsked(for: line) == isAsked)
  }
}
