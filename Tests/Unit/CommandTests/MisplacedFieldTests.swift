import Console
import Control
import JSONDocument
import Testing
import Waymark
import WaymarkCare

@testable import WaymarkCommand

/// A field that is typed as if it were an option.
struct MisplacedFieldTests {
  @Test(
    arguments: [
      ("trip add --name=Rome", true), ("trip edit Rome --name=Roma", true),
      ("trip show Rome --name=x", false), ("trip list --name=x", false),
      ("trip delete Rome --name=x", false), ("habit show Read --name=x", false),
    ] as [(String, Bool)])
  func `how a field is written is said only by a command that takes fields`(
    line: String, takesFields: Bool
  ) throws {
    let words = line.split(separator: " ").map(String.init)
    let failure = #expect(throws: WaymarkError.self) { try CommandParser(directory: "/").parse(words) }
    let message = try #require(failure).message.description
    #expect(message.contains("`waymark \(words[0]) \(words[1])` has no option --name"), "\(message)")
    #expect(message.contains("write name=VALUE") == takesFields, "\(message)")
  }
}
