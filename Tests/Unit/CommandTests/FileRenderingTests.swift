import Console
import Control
import Foundation
import JSONDocument
import Model
import Testing
import WaymarkCare

@testable import Waymark
@testable import WaymarkCommand

/// Files as the terminal shows them.
struct FileRenderingTests {
  private static func device(_ name: String) -> DeviceReference {
    DeviceReference(device: DeviceKey(bytes: Array(repeating: 7, count: 32))!, name: name)
  }

  private func text<Shown: TerminalCommand>(_ command: Shown, _ document: JSON) throws -> String {
    let answer = try AnswerCoding.decode(Shown.Answer.self, from: document)
    var rendering = Rendering(
      width: 100, hasColor: false, notesWidth: 100, notesHaveColor: false, time: TimeText(now: 0))
    command.render(answer, into: &rendering)
    return (rendering.data.lines + rendering.notes.lines).joined(separator: "\n")
  }

  @Test(
    arguments: [
      (FileState.here, "here"),
      (.partly(received: 4_900_000, size: 12_000_000, from: [device("nas")]), "40 % of 12.0 MB from nas"),
      (.partly(received: 11_999_999, size: 12_000_000, from: []), "99 % of 12.0 MB"),
      (.elsewhere(on: [device("nas"), device("phone")]), "on nas and phone"),
      (.elsewhere(on: [device("a"), device("b"), device("c")]), "on a, b and c"),
      (.nowhere, "nowhere any more"),
    ] as [(FileState, String)])
  func `the state of a file reads as a phrase, and survives its document`(state: FileState, text: String)
    throws
  {
    #expect(state.text == text)
    let document = try AnswerCoding.document(state)
    #expect(try AnswerCoding.decode(FileState.self, from: document) == state)
    var shown: JSON = ["bytes": 12_000_000, "file": "00"]
    for member in document.members ?? [] { shown[member.key] = member.value }
    #expect(try content(of: ["fileData": shown]) == "fileData  12.0 MB · \(text)")
  }

  @Test func `content without a known state is left out`() throws {
    for content: JSON in [["bytes": 1, "file": "00"], ["state": "lost", "bytes": 1], "here"] {
      #expect(try self.content(of: ["fileName": "tour.pdf", "fileData": content]) == "fileName  tour.pdf")
    }
  }

  /// What `attachment show` prints.
  private func content(of attachment: JSON) throws -> String {
    let command = try AnswerCoding.decode(ShowRecord.self, from: ["kind": "attachment", "id": "tour.pdf"])
    return try text(command, attachment)
  }

  @Test(
    arguments: [
      ("4096", 4_096), ("500MB", 500_000_000), ("1.5 GB", 1_500_000_000), ("2 gib", 2 << 30), ("0", 0),
      ("", nil), ("GB", nil), ("-1GB", nil), ("5 apples", nil), ("1.2.3MB", nil), ("99999999TB", nil),
      ("18446744073709551615", .max), ("18446744073709551616", nil),
    ] as [(String, UInt64?)])
  func `a size is a number and a unit`(typed: String, bytes: UInt64?) { #expect(byteSize(typed) == bytes) }

  @Test(
    arguments: [
      (0, "0 bytes"), (1, "1 byte"), (1_023, "1023 bytes"), (1 << 10, "1 KiB"), (1 << 30, "1 GiB"),
      (2_000_000_000, "1.8 GiB"), (3 << 29, "1.5 GiB"), (.max, "16777215.9 TiB"),
    ] as [(UInt64, String)])
  func `a size is shown in the greatest unit that it reaches`(bytes: UInt64, text: String) {
    #expect(sizeText(bytes) == text)
  }

  @Test func `the list of files shows the totals, and what only this device has`() throws {
    let answer = try text(
      ListFiles(),
      [
        "keep": "up-to 2000000000", "here": 2, "bytes": 5_000_000, "missing": 1, "missingBytes": 7_000_000,
        "lastCopies": 1, "lastCopyBytes": 4_000_000,
        "items": [
          [
            "file": .string(String(repeating: "ab", count: 32)), "bytes": 7_000_000, "state": "elsewhere",
            "on": [["device": Answers.key("nas"), "name": "nas"]], "used": nil,
            "records": [
              ["kind": "attachment", "id": "0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60", "name": "tour.pdf"]
            ],
          ],
          [
            "file": .string(String(repeating: "cd", count: 32)), "bytes": 4_000_000, "state": "here",
            "used": "1970-01-01T00:00:00Z", "records": [],
          ],
        ],
      ])
    #expect(answer.contains("2 files · 5.0 MB"))
    #expect(answer.contains("1 file · 7.0 MB"))
    #expect(answer.contains("up to 2.0 GB"))
    #expect(answer.contains("Only here, as far as is known: 1 file, 4.0 MB."))
    #expect(answer.contains("on nas"))
    #expect(answer.contains("tour.pdf"))
    #expect(answer.contains("an earlier version of a record"))
  }

  @Test func `status says that files would be lost with this disk`() throws {
    func lines(changeSets: Int64, files: Int64) throws -> String {
      var totals = Answers.files
      totals["lastCopies"] = .integer(files)
      totals["lastCopyBytes"] = .integer(files * 1_000_000)
      let status = try Answers.status([
        "lanes": ["settings": Self.lane, "records": Self.lane], "files": totals,
        "premium": ["active": true, "source": "all-features", "validUntil": nil],
        "loss": [
          "changeSets": .integer(changeSets), "newest": nil,
          "devices": [
            [
              "device": Answers.key("nas"), "name": "nas", "lacking": .integer(changeSets),
              "newestLacking": nil,
              "asOf": nil,
            ]
          ],
        ],
      ])
      var rendering = Rendering(
        width: 200, hasColor: false, notesWidth: 200, notesHaveColor: false, time: TimeText(now: 0))
      rendering.status(status)
      return rendering.data.lines.joined(separator: "\n")
    }
    #expect(try lines(changeSets: 0, files: 0).contains("nothing would be lost"))
    #expect(
      try lines(changeSets: 0, files: 2).contains(
        "If this disk died now, 2 files (2.0 MB) would be lost: no other device has said that it has them."))
    #expect(try lines(changeSets: 3, files: 1).contains("3 change sets and 1 file (1.0 MB) would be lost"))
  }

  private static let lane: JSON = ["open": true, "reason": nil, "digest": "00", "changeSets": 4, "parked": 0]
}
