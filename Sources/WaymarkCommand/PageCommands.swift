import Control
import Foundation
import Waymark

/// `page`: opens the live page of the running node in a browser.
struct ShowPage: TerminalCommand {
  var live: Bool?

  struct Answer: Codable {
    /// The address without the code.
    let address: String
    let code: String
    /// The address with the code, which opens the page once.
    let link: String
    /// Whether a browser was told to open the link.
    let opened: Bool
  }

  static let syntax = CommandSpec(
    words: ["page"], summary: "open a page about this node in a browser",
    options: [
      .init(
        flag: "--live", placeholder: nil,
        summary: "the page of the running node, which follows each change and can act")
    ],
    details: """
      The node serves the page on this machine only, and only to the browser that this command opens. Without
      a desktop, the command prints a link, which works once and for two minutes. To open it on another
      machine, forward its port first: ssh -L ADDR:PORT:ADDR:PORT HOST. The page closes by itself ten minutes
      after it was last used, unless the node runs with waymark run --page.
      """,
    exampleArguments: "--live")

  func run(_ run: CommandContext) async throws -> Answer {
    guard live == true else {
      throw WaymarkError.usage("`waymark page` needs --live.", next: .waymark("page --live"))
    }
    let opened = try await ControlClient.perform(OpenPage(), home: run.home)
    let link = "\(opened.address)#\(opened.code)"
    // A program that asks for JSON opens the link itself.
    let isOpened = !run.printsJSON && Browser.open(link, home: run.home, environment: run.environment)
    return Answer(address: opened.address, code: opened.code, link: link, opened: isOpened)
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    if answer.opened {
      rendering.notes.paragraph("The page opens in your browser. If it does not, open this link:")
    } else {
      // The same address on the other machine, because the node answers no other one.
      let place = answer.address.dropFirst("http://".count).dropLast()
      rendering.notes.paragraph(
        "This link works once, within two minutes. If your browser is on another machine, first run there: "
          + "ssh -L \(place):\(place) HOST")
    }
    rendering.data.line(answer.link)
  }
}

/// Opens a link in the user's browser.
enum Browser {
  /// Returns false if there is no desktop, no program that opens links, or no room for the file.
  ///
  /// Other users of this machine can read the command line of every process, so the browser gets the link from a file
  /// that only this user can read. The code in it works once.
  static func open(_ link: String, home: Home, environment: [String: String]) -> Bool {
    #if os(macOS)
      let program = "open"
    #else
      let program = "xdg-open"
      guard ["DISPLAY", "WAYLAND_DISPLAY"].contains(where: { environment[$0]?.isEmpty == false }) else {
        return false
      }
    #endif
    let file = home.path + "/open-page.html"
    let page = """
      <!doctype html>
      <meta charset="utf-8">
      <meta name="referrer" content="no-referrer">
      <title>Waymark</title>
      <script>location.replace("\(link)")</script>

      """
    do { try Files.replace(file, with: Array(page.utf8)) } catch { return false }
    return Helper.begin([program, file])
  }
}
