import Console
import JSONDocument
import Testing
import WaymarkCare

@testable import Control
@testable import Waymark
@testable import WaymarkCommand

/// The documents of `join`, `invite` and `restore`, decoded and encoded again.
struct EnrolmentAnswerTests {
  private static let joinedByRootKey: JSON = [
    "circle": Answers.key("circle"), "device": Answers.key("phone"), "name": "phone", "rewritten": 3,
  ]

  private static let joinedByTicket: JSON = [
    "circle": Answers.key("circle"), "device": Answers.key("phone"), "name": "phone 2", "rewritten": 0,
    "brought": ["trips": 2, "habits": 1], "wasMember": false, "askedName": "phone",
    "formerMember": ["device": Answers.key("old"), "name": "phone"],
  ]

  @Test(arguments: [joinedByRootKey, joinedByTicket])
  func `the document of a join has only the keys of its entry path`(_ document: JSON) throws {
    let answer = try AnswerCoding.decode(JoinCircle.Answer.self, from: document)
    #expect(try AnswerCoding.encode(answer) == document)
  }

  @Test(arguments: [
    ["ticket": "waymark1abc", "code": nil, "expires": "2026-11-25T03:05:08Z"] as JSON,
    ["ticket": nil, "code": "482 913", "expires": "2026-11-25T03:05:08Z"],
    [
      "ticket": "waymark1abc", "code": nil, "expires": "2026-11-25T03:05:08Z", "joined": Answers.key("phone"),
      "name": "phone",
    ],
  ])
  func `the document of an invitation names the device that joined if the command waited for it`(
    _ document: JSON
  ) throws {
    let answer = try AnswerCoding.decode(Invite.Answer.self, from: document)
    #expect(try AnswerCoding.encode(answer) == document)
  }

  @Test func `the document of a restore keeps the order of its keys`() throws {
    let document: JSON = [
      "schema": "waymark.restore/1", "type": "summary", "preview": true, "file": "/a.waymark",
      "created": "2026-11-25T03:05:08Z", "createdUTC": "2026-11-25T03:05:08Z", "from": "laptop",
      "circle": Answers.key("circle"),
      "newCircle": false, "device": nil, "name": "laptop", "newKeys": true, "admitted": false,
      "changeSets": 4, "missing": 1, "files": 3, "missingFiles": 1, "records": 2, "erasedAgain": [],
      "discardedSets": nil,
      "keptAt": nil, "keptBackup": nil,
      "text": "The store can't be read.", "next": "waymark run",
    ]
    let answer = try AnswerCoding.decode(RestoreSummary.self, from: document)
    #expect(try RestoreBackup(file: "/a.waymark").document(answer, home: nil) == document)
  }
}
