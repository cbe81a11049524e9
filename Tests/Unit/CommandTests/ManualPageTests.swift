import Testing

@testable import WaymarkCommand

/// The markup of the manual page.
struct ManualPageTests {
  private let lines = ManualPage.text.split(separator: "\n").map(String.init)

  @Test func `what is indented or kept as it is ends, so that the rest of the page is prose again`() {
    var (depth, isExample) = (0, false)
    for (number, line) in lines.enumerated() {
      switch String(line.prefix { $0 != " " }) {
      case ".RS": depth += 1
      case ".RE": depth -= 1
      case ".EX":
        #expect(!isExample, "line \(number): \(line)")
        isExample = true
      case ".EE":
        #expect(isExample, "line \(number): \(line)")
        isExample = false
      case ".TP", ".SH", ".SS", ".IP": #expect(!isExample, "line \(number): \(line)")
      default: break
      }
      #expect(depth >= 0, "line \(number): \(line)")
    }
    #expect(depth == 0 && !isExample)
  }

  @Test func `an indented line in the details of a command is an example`() throws {
    let typed = "waymark metrics --write /var/lib/prometheus/node-exporter/waymark.prom"
    let places = lines.indices.filter { lines[$0] == ManualPage.escaped(typed) }
    // Once in the details, and once as the example.
    try #require(places.count == 2)
    for place in places {
      #expect(lines[place - 1] == ".EX" && lines[place + 1] == ".EE", "line \(place)")
    }
  }
}
