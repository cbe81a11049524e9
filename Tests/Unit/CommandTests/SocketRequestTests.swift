import JSONDocument
import Testing
import Waymark
import WaymarkCare

@testable import Control
@testable import WaymarkCommand

/// A command line asks a running node for the same as it does without one: what was typed survives the control socket.
struct SocketRequestTests {
  /// The examples of help, and lines with options that are encoded in a form of their own or that exclude others.
  static let lines =
    CommandTable.all.compactMap(\.example) + [
      "waymark trip list --deleted", "waymark lodging list --trip Rome --upcoming --limit 5 --sort -name",
      "waymark trip list Rome --ndjson", "waymark entry list --habit Read --limit 3",
      "waymark trip delete Rome --yes", "waymark undo 3fa91c22 --preview", "waymark undo --yes",
      "waymark erase Rome --field notes", "waymark erase --trash --older-than 30d",
      "waymark sync on --everywhere --yes", "waymark sync on --preview",
      "waymark sync --take phone --only trip", "waymark sync --push",
      "waymark wait --timeout 2m --lane records --peer phone",
      "waymark conflicts resolve --all --take winner", "waymark import a.json b.json --preview",
      "waymark history Rome --limit 5 --ndjson", "waymark status --check --acknowledge",
      "waymark verify --deep", "waymark verify --repair", "waymark cleanup --except Rome --except Oslo",
    ]

  @Test(arguments: lines) func `a command arrives at a running node as it was typed`(line: String) throws {
    var request = try CommandParser(directory: "/").parse(Array(ExampleTests.words(line).dropFirst())).request
    request.arguments["zone"] = "Europe/Rome"
    // Other commands never use the socket.
    guard let type = CommandTable.typed(request.command) as? any NodeCommand.Type else { return }
    try expectSame(type, request)
  }

  private func expectSame(_ type: (some NodeCommand).Type, _ request: ControlRequest) throws {
    let command = try request.command(as: type)
    let sent = ControlRequest(command: command.documentName, arguments: try AnswerCoding.encode(command))
    let received = try #require(ControlRequest(line: sent.line()))
    #expect(received == sent)
    guard let served = Commands.named(received.command) else {
      Issue.record("a node has no command \(received.command)")
      return
    }
    #expect(ObjectIdentifier(served as Any.Type) == ObjectIdentifier(type as Any.Type))
    #expect(try AnswerCoding.encode(try received.command(as: type)) == sent.arguments)
  }
}
