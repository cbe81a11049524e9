import Console
import Control
import Platform
import Home
import Waymark
import WaymarkPage

/// `page`: writes the page to a file, or opens the live page of the running node.
struct ShowPage: TerminalCommand, ConfirmableCommand {
  /// Whether to open the live page.
  var live: Bool?
  /// The trip that the file is about; nil for everything.
  var trip: String?
  /// The file to write; nil for one in the current directory.
  var output: String?
  /// Whether to leave the file closed where there is a desktop.
  var noOpen: Bool?
  /// Whether to replace a file that is not a page.
  var yes: Bool?

  struct Answer: Codable {
    /// The file that was written; nil for none.
    var output: String?
    /// Whether a browser was told to open the page.
    var opened = false
    /// What the file shows; nil for the live page.
    var page: PageDocument?
    /// The address of the live page without the code; nil for a file.
    var address: String?
    /// The code that opens the live page once; nil for a file.
    var code: String?
    /// The address with the code; nil for a file.
    var link: String?
  }

  static let syntax = CommandSpec(
    words: ["page"], summary: "show habits, trips and devices as a page in a browser",
    options: [
      .init(flag: "--trip", placeholder: "T", summary: "a page of this trip alone, to print or to pass on"),
      .init(
        flag: "--output", placeholder: "FILE", summary: "write to FILE; default waymark.html, or TRIP.html",
        type: .path),
      .init(flag: "--no-open", placeholder: nil, summary: "write the file, but don't open it in the browser"),
      .init(
        flag: "--live", placeholder: nil,
        summary: "the page of the running node, which follows each change and can act"),
    ],
    details: """
      Writes one HTML file that holds its data and loads nothing, and opens it where there is a desktop. It
      shows a year of each habit, trips day by day, the devices, conflicts and the latest changes. The page is
      a copy; running the command again replaces it. Only you can read the file. Details of protected trips
      are left out, unless --trip names the trip.

      With --live, the running node serves the page on this machine only, and only to the browser that this
      command opens. Without a desktop, the command prints a link, which works once and for two minutes. To
      open it on another machine, forward its port first: ssh -L ADDR:PORT:ADDR:PORT HOST. The page closes by
      itself ten minutes after it was last used, unless the node runs with waymark run --page.
      """,
    exampleArguments: "--trip Rome --output rome.html")

  static let waitsFor: String? = "Reading"

  func interruption(at stage: String?, _ home: Home) -> Interruption {
    Interruption(message: "Interrupted; nothing was written.", next: nil)
  }

  func run(_ run: CommandContext) async throws -> Answer {
    guard live == true else { return try await write(run) }
    guard trip == nil, output == nil, noOpen == nil else {
      throw WaymarkError.usage(
        "--live can't be used with --trip, --output or --no-open.", next: .waymark("page --live"))
    }
    return try await openLive(run)
  }

  private func openLive(_ run: CommandContext) async throws -> Answer {
    let opened = try await ControlClient.perform(OpenPage(), home: run.home)
    let link = "\(opened.address)#\(opened.code)"
    // A program that asks for JSON opens the link itself.
    let isOpened = !run.printsJSON && Browser.open(link: link, home: run.home, run.environment)
    return Answer(opened: isOpened, address: opened.address, code: opened.code, link: link)
  }

  /// Writes the file in this process, so that its path is relative to this process. `--json` prints what the page shows,
  /// and writes a file only if `--output` names one.
  private func write(_ run: CommandContext) async throws -> Answer {
    let page = try await ControlClient.perform(ReadPage(trip: trip), home: run.home) { run.events.handle($0) }
    var answer = Answer(page: page)
    guard output != nil || !run.printsJSON else { return answer }
    let html = try page.html()
    if let output, PipedFile.isNeeded(for: output) {
      try TextFile.send(html, to: output)
      answer.output = output
      return answer
    }
    let name = (trip == nil ? nil : page.trips.first.map { "\($0.name).html" }) ?? "waymark.html"
    let path = try output.map { try OutputFile.path($0, naturally: name) } ?? Files.safeName(name)
    try TextFile.write(
      html, to: path, besides: run.home, replacingOwn: PageHTML.beginning, overwrites: yes == true,
      mode: 0o600)
    answer.output = path
    answer.opened = noOpen != true && !run.printsJSON && Browser.open(file: path, run.environment)
    return answer
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    if let output = answer.output {
      rendering.notes.paragraph(
        "Wrote \(printable(output))\(answer.opened ? ", and opened it in your browser" : "").")
    }
    guard let link = answer.link, let address = answer.address else { return }
    if answer.opened {
      rendering.notes.paragraph("The page opens in your browser. If it does not, open this link:")
    } else {
      // The same address on the other machine, because the node answers no other one.
      let place = address.dropFirst("http://".count).dropLast()
      rendering.notes.paragraph(
        "This link works once, within two minutes. If your browser is on another machine, first run there: "
          + "ssh -L \(place):\(place) HOST")
    }
    rendering.data.line(link)
  }
}
