import Foundation
import JSONDocument
import Testing
import Waymark

@testable import WaymarkCommand

/// What was found by asking peers, as a person sees it, 100 columns wide.
struct ComparisonRenderingTests {
  private func text(_ words: [String], _ document: JSON) throws -> String {
    var rendering = Rendering(
      width: 100, hasColor: false, notesWidth: 100, notesHaveColor: false,
      time: TimeText(now: 1_795_262_400_000, zone: try #require(TimeZone(identifier: "UTC"))))
    rendering.render(
      document, of: Invocation(words: words, arguments: .object([]), options: GlobalOptions()))
    let lines = rendering.data.lines + rendering.notes.lines
    for line in lines { #expect(line.displayWidth <= 100, "\(line)") }
    return lines.joined(separator: "\n")
  }

  private func counts(_ here: Int64, _ there: Int64, _ same: Int64, _ differing: Int64) -> JSON {
    [
      "onlyHere": .integer(here), "onlyThere": .integer(there), "same": .integer(same),
      "differing": .integer(differing),
    ]
  }

  private func kind(_ plural: String, _ counts: JSON) -> JSON {
    var document: JSON = ["plural": .string(plural)]
    for member in counts.members ?? [] { document[member.key] = member.value }
    return document
  }

  @Test func `a preview shows what is where, which profile wins, and who was not asked`() throws {
    let document: JSON = [
      "preview": true, "preference": false,
      "kinds": [kind("trips", counts(2, 1, 14, 1)), kind("logs", counts(0, 20_000, 0, 0))],
      "total": counts(2, 20_001, 14, 1), "differing": [["kind": "trip", "id": "0196F0A2", "name": "東京"]],
      "profile": [
        "state": "differs", "winner": "there", "winnerName": "phone", "text": "it was changed later",
        "here": ["updatedAt": "2026-05-02T14:00:00Z", "filledIn": 4],
        "there": ["updatedAt": "2026-05-03T09:00:00.250Z", "filledIn": 3],
      ],
      "peers": [["name": "phone"], ["name": "nas"]],
      "notAsked": [["name": "tablet", "text": "sync of records is off on tablet", "next": nil]],
    ]
    #expect(
      try text(["sync", "on"], document) == """
        If sync is turned on (nothing has been written):

                  ONLY HERE  ONLY THERE  SAME  DIFFERING
        trips             2           1    14          1
        logs              0      20,000     0          0
        together          2      20,001    14          1

        Differing records merge field by field, the newer change shows, the other is kept:
          trip “東京” (0196F0A2)

        profile    the one of phone wins, because it was changed later (here 2026-05-02 14:00 UTC, 4 fields;
                   there 2026-05-03 09:00:00.250 UTC, 3 fields)
        asked      phone, nas
        not asked  tablet, because sync of records is off on tablet
        Next: waymark sync on --yes
        """)
  }

  @Test func `a preview says so when nobody could be asked`() throws {
    let document: JSON = [
      "preview": true, "preference": true, "kinds": [kind("trips", counts(2, 0, 0, 0))],
      "total": counts(2, 0, 0, 0), "differing": [], "profile": nil, "peers": [],
      "notAsked": [
        ["name": "nas", "text": "nas is free: only settings sync with it", "next": "waymark help premium"]
      ],
    ]
    #expect(
      try text(["sync", "on"], document) == """
        Sync is on. What the devices hold now:

        asked      no other device
        not asked  nas, because nas is free: only settings sync with it · waymark help premium
        """)
  }

  @Test func `verify prints nothing but the verdict`() throws {
    let differs: JSON = [
      "verdict": "differs", "records": [["kind": "trip", "id": "0196F0A2", "name": "Rome"]], "more": true,
      "digestWrongHere": [], "digestWrongThere": ["01", "7f"],
    ]
    func peer(_ name: String, _ settings: JSON, _ records: JSON, next: JSON = nil) -> JSON {
      [
        "name": .string(name), "certificatesEqual": true, "next": next,
        "lanes": ["settings": settings, "records": records],
      ]
    }
    let document: JSON = [
      "verdict": "differs",
      "peers": [
        peer("nas", ["verdict": "equal"], ["verdict": "equal"]),
        peer(
          "phone", ["verdict": "equal"], ["verdict": "not_in_sync", "behind": 2, "ahead": 0],
          next: "waymark wait --peer phone"),
        peer("tablet", ["verdict": "equal"], ["verdict": "not_compared", "text": "tablet is free"]),
        peer("studio", ["verdict": "equal"], differs, next: "on studio: waymark verify --deep --repair"),
      ],
    ]
    #expect(
      try text(["verify"], document) == """
        nas: settings equal · records equal
        phone: settings equal · records not in sync yet (2 change sets behind)
        tablet: settings equal · records not compared: tablet is free
        studio: settings equal · records differ
          trip “Rome” (0196F0A2)
          … and more
          the digest kept on studio is not that of the records whose ids begin with 01, 7f
        Next: waymark wait --peer phone
        Next: on studio: waymark verify --deep --repair
        """)
  }
}
