import Control
import Waymark
import WaymarkPage

extension MakePage: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["page"], summary: "write a page with habits, trips and devices, for a browser",
    options: [
      .init(flag: "--trip", placeholder: "T", summary: "a page of this trip alone, to print or to pass on"),
      .init(
        flag: "--output", placeholder: "FILE", summary: "write to FILE; default waymark.html, or TRIP.html",
        type: .path),
      .init(flag: "--no-open", placeholder: nil, summary: "don't open it in the browser"),
    ],
    details: """
      Writes one HTML file that holds its data and loads nothing, and opens it where there is a desktop. It shows
      a year of each habit, trips day by day, the devices, conflicts and the latest changes. The page is a copy:
      run the command again for a new one, which replaces it. Details of protected trips are left out, unless
      --trip names the trip. Only this user can read the file.
      """, exampleArguments: "--trip Rome --output rome.html")

  static let waitsFor: String? = "Reading"

  func interruption(at stage: String?, _ home: Home) -> Interruption {
    Interruption(message: "Interrupted; nothing was written.", next: nil)
  }

  /// Writes the file in this process, so that the path is that of this process. `--json` prints the document, and
  /// writes a file only to `--output`.
  func run(_ run: CommandContext) async throws -> Answer {
    var answer = try await ControlClient.perform(self, home: run.home) { run.events.handle($0) }
    guard output != nil || !run.printsJSON else { return answer }
    let html = try answer.page.html()
    if let output, PipedFile.isNeeded(for: output) {
      try TextFile.send(html, to: output)
      answer.output = output
      return answer
    }
    let name = (trip == nil ? nil : answer.page.trips.first.map { "\($0.name).html" }) ?? "waymark.html"
    let path = try OutputFile.path(output ?? ".", naturally: name)
    try TextFile.write(
      html, to: path, besides: run.home, replacingOwn: PageFile.beginning, overwrites: yes == true,
      mode: 0o600)
    answer.output = path.hasPrefix("./") ? String(path.dropFirst(2)) : path
    answer.isOpened = noOpen != true && !run.printsJSON && Desktop.open(path, run.environment)
    return answer
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    guard let output = answer.output else { return }
    rendering.notes.paragraph(
      "Wrote \(printable(output))\(answer.isOpened ? ", and opened it in the browser" : "").")
  }
}
