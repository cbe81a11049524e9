import Console
import Testing

@testable import WaymarkCommand

/// The sections of the manual page, and what stands where in them.
struct ManualSectionTests {
  private let lines = ManualPage.text.split(separator: "\n").map(String.init)

  private func section(_ title: String) -> [String] {
    let rest = lines.drop { $0 != ".SH \"\(title)\"" }.dropFirst()
    return Array(rest.prefix { !$0.hasPrefix(".SH ") })
  }

  @Test func `the sections have the order that manual pages have`() {
    let titles = lines.filter { $0.hasPrefix(".SH ") }.map { String($0.dropFirst(4)) }
    let first = ["NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS"].map { "\"\($0)\"" }
    let last = ["ENVIRONMENT", "FILES", "EXIT STATUS", "SEE ALSO"].map { "\"\($0)\"" }
    #expect(Array(titles.prefix(5)) == first && Array(titles.suffix(4)) == last, "\(titles)")
    #expect(section("EXIT STATUS").contains { $0.contains("not in sync") })
    #expect(section("SEE ALSO").count == 3)
    #expect(section("FILES").contains { $0.contains("config.json") })
  }

  @Test func `the first steps say which of them are for the other device`() throws {
    let steps = section("DESCRIPTION")
    let place = try #require(
      steps.firstIndex(of: "Then on the other device, with the ticket that was printed:"))
    #expect(steps[..<place].contains { $0.hasPrefix("waymark invite") })
    #expect(!steps[..<place].contains { $0.hasPrefix("waymark join") })
    let after = Array(steps.dropFirst(place + 1).prefix(3))
    #expect(after.first == ".RS 2" && after.last?.hasPrefix("waymark join") == true, "\(after)")
  }

  @Test func `the details of a command are a paragraph of their own, after its summary`() throws {
    let commands = section("COMMANDS")
    for spec in CommandTable.groups.flatMap(\.commands) where spec.details != nil {
      let head = ".B " + ManualPage.escaped(spec.usage)
      let place = try #require(commands.firstIndex(of: head), "\(spec.name)")
      try #require(commands.count > place + 2)
      #expect(commands[place + 1].hasSuffix("."), "\(spec.name)")
      #expect(commands[place + 2] == ".IP", "\(spec.name)")
    }
  }
}
