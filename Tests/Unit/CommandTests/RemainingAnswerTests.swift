import Console
import Foundation
import JSONDocument
import Model
import NodeRuntime
import Platform
import Testing
import Waymark
import WaymarkCare

@testable import Control
@testable import NodeOperations
@testable import WaymarkCommand

/// What a person reads of answers, and the exit codes that scripts get, in states that no other test shows.
struct RemainingAnswerTests {
  private static let id: JSON = "0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60"
  private static let hour = "2026-11-21T11:00:00Z"
  private static let endOf2027 = "2028-01-01T00:00:00Z"

  // MARK: Verification and doctor

  private func verification(_ more: JSON) throws -> StoreVerification {
    try AnswerCoding.decode(
      StoreVerification.self,
      from: Answers.completed(
        more,
        by: [
          "ok": true, "text": "Everything matches.", "next": nil, "statements": 1, "changeSets": 2, "rows": 3,
          "erasedValues": 0, "missingValues": 0, "damagedValues": 0, "files": 0, "damagedFiles": 0,
          "found": 0, "findings": [], "repaired": nil, "backup": nil,
        ]))
  }

  @Test func `verify exits with 1 for damage, with 5 for what can't be compared yet, and otherwise with 0`()
    throws
  {
    func code(_ verdict: PeerVerification.Verdict) -> Int32 {
      Verify().exitCode(for: .peers(PeerVerification(verdict: verdict, peers: [])))
    }
    #expect(code(.equal) == 0 && code(.differs) == 1)
    #expect(code(.notInSync) == 5 && code(.unknown) == 5)
    let sound = try verification([:])
    let damaged = try verification(["ok": false])
    #expect(Verify().exitCode(for: .store(sound)) == 0)
    #expect(Verify().exitCode(for: .store(damaged)) == 1)
  }

  @Test func `a damaged store is described by its first findings, and says how many there are`() throws {
    func finding(_ kind: JSON, _ name: JSON, _ fields: JSON, _ text: String) -> JSON {
      [
        "place": "records", "kind": kind, "id": kind.isNull ? nil : Self.id, "name": name, "fields": fields,
        "text": .string(text),
      ]
    }
    func text(_ more: JSON) throws -> (data: String, notes: String) {
      let verification = try verification(more)
      let lines = try shown(columns: 200) { Verify().render(.store(verification), into: &$0) }
      return (oneLine(lines.data), oneLine(lines.notes))
    }
    let sound = try text([:])
    #expect(sound.data == "ok Everything matches." && sound.notes.isEmpty)
    let rome = finding("trip", "Rome", ["name", "notes"], "differs from the log")
    let damaged = try text([
      "ok": false, "text": "3 things differ.", "found": 3,
      "findings": [
        rome, finding("entry", nil, [], "is missing"), finding(nil, nil, [], "set 12 is damaged"),
      ],
      "next": "waymark verify --deep --repair", "backup": "/b.waymark",
    ])
    #expect(
      damaged.data
        == "not ok 3 things differ. trip “Rome” (2C8B1E60): differs from the log in name, notes "
        + "entry (2C8B1E60): is missing set 12 is damaged")
    #expect(
      damaged.notes == "A backup was taken first: /b.waymark Next: waymark verify --deep --repair")
    let many = try text([
      "ok": false, "found": 1_224, "findings": .array(Array(repeating: rome, count: 24)),
    ])
    #expect(many.data.components(separatedBy: "trip “Rome”").count == 21)
    #expect(many.notes == "… and 1,204 more")
  }

  @Test func `doctor fails only if something is broken, and counts errors apart from warnings`() throws {
    func diagnosis(_ severities: [String], ok: Bool, report: String? = nil) -> JSON {
      let findings = severities.map { severity -> JSON in
        [
          "check": "clock", "severity": .string(severity), "code": "ok", "text": "It is so.", "next": nil,
        ]
      }
      return ["ok": .bool(ok), "findings": .array(findings), "report": .text(report)]
    }
    func closing(_ severities: String...) throws -> String {
      let text = try answerText(ExamineHome.self, "doctor", [:], diagnosis(severities, ok: true)).data
      return String(text.split(separator: "so.").last ?? "").trimmingCharacters(in: .whitespaces)
    }
    #expect(try closing("ok", "info") == "No problems found.")
    #expect(try closing("ok", "warning", "warning") == "0 errors, 2 warnings.")
    #expect(try closing("error", "warning", "info") == "1 error, 1 warning.")
    for isSound in [true, false] {
      let answer = try AnswerCoding.decode(Diagnosis.self, from: diagnosis(["warning"], ok: isSound))
      #expect(ExamineHome().exitCode(for: answer) == (isSound ? 0 : 1))
    }
    let written = diagnosis(["ok"], ok: true, report: "/r.json")
    #expect(
      try answerText(ExamineHome.self, "doctor", [:], written).notes.hasPrefix("Wrote /r.json. It contains"))
  }

  // MARK: Premium

  private static func premium(_ isActive: Bool) -> JSON {
    let source = isActive ? "certificate" : "none"
    return [
      "active": .bool(isActive), "source": .string(source), "validUntil": nil,
      "reason": isActive ? nil : "free_tier",
    ]
  }

  private func entitlement(_ start: String, devices: JSON, _ state: String) -> JSON {
    [
      "id": .string(String(repeating: start, count: 64)), "plan": "premium", "state": .string(state),
      "here": true, "devices": devices, "issuer": Answers.key("issuer"), "issuedAt": .string(Self.hour),
      "notBefore": .string(Self.hour), "notAfter": .string(Self.endOf2027), "serial": "01", "source": "shop",
    ]
  }

  private func purchase(_ more: JSON) -> JSON {
    Answers.completed(
      more,
      by: [
        "product": "com.example.year", "group": "1", "app": "com.example", "state": "valid",
        "until": .string(Self.endOf2027), "confirmed": .string(Self.hour), "trustedUntil": .string(Self.hour),
        "device": Answers.key("phone"), "deviceName": "phone", "sandbox": false,
      ])
  }

  private func premiumPage(_ more: JSON) throws -> (data: String, notes: String) {
    let document = Answers.completed(
      more,
      by: [
        "premium": Self.premium(true), "text": nil, "next": "waymark help premium", "purchases": [],
        "product": nil, "appAccountToken": Self.id, "entitlements": [], "issuers": [],
      ])
    return try answerText(ShowPremium.self, "premium.show", [:], document)
  }

  @Test func `premium is offered only to a member without it, and a device outside is told why`() throws {
    let active = try premiumPage(["product": "com.example.year"])
    #expect(active.data == "premium · com.example.year" && active.notes.isEmpty)
    let free = try premiumPage(["premium": Self.premium(false)])
    #expect(free.data.hasPrefix("free · settings sync") && free.notes == "Next: waymark help premium")
    let revoked = try premiumPage(["text": "this device was revoked", "next": "waymark join TICKET"])
    #expect(revoked.data == "not in the circle this device was revoked")
    #expect(revoked.notes == "Next: waymark join TICKET")
  }

  @Test func `entitlements and purchases are listed with their devices, ends and states`() throws {
    let both: JSON = [Answers.key("nas"), Answers.key("phone")]
    let entitlements: JSON = [
      entitlement("1", devices: nil, "valid"), entitlement("2", devices: both, "withdrawn"),
    ]
    let listed = try premiumPage(["entitlements": entitlements]).data
    #expect(
      listed == "premium ID FROM UNTIL DEVICES SOURCE STATE "
        + "11111111 2026-11-21 11:00 UTC 2027-12-31 UTC all shop valid "
        + "22222222 2026-11-21 11:00 UTC 2027-12-31 UTC 6e617300 70686f6e shop withdrawn")
    let life: JSON = ["product": "com.example.life", "until": nil, "trustedUntil": nil, "sandbox": true]
    let bought = try premiumPage(["purchases": [purchase([:]), purchase(life)]]).data
    #expect(
      bought == "premium PRODUCT UNTIL CONFIRM BY INSTALLED ON STATE "
        + "com.example.year 2027-12-31 UTC 2026-11-21 11:00 UTC phone valid "
        + "com.example.life (sandbox) for life – phone valid")
  }

  @Test func `own premium says if nothing was issued, and offers sync to those who have it off`() throws {
    func issued(_ isNew: Bool, preference: Bool) throws -> (data: String, notes: String) {
      try answerText(
        IssueOwnPremium.self, "premium.self", [:],
        [
          "until": .string(Self.endOf2027), "issued": .bool(isNew), "trusted": .bool(isNew),
          "premium": Self.premium(true), "preference": .bool(preference),
        ])
    }
    let done = try issued(true, preference: true)
    #expect(done.data == "premium until 2027-12-31 UTC · all devices of this circle" && done.notes.isEmpty)
    #expect(try issued(true, preference: false).notes == "Next: waymark sync on --everywhere")
    #expect(
      try issued(false, preference: true).notes
        == "It was issued earlier and lasts long enough; nothing was changed.")
  }

  @Test func `an installed purchase says if it was known, and what verifies it where this build can't`()
    throws
  {
    func installed(_ purchase: JSON, added: Bool) throws -> String {
      try answerText(
        InstallEntitlement.self, "entitlement.install", ["file": "/e"],
        [
          "added": .bool(added), "entitlement": nil, "purchase": purchase, "premium": Self.premium(true),
        ]
      ).notes
    }
    #expect(try installed(nil, added: false).isEmpty)
    #expect(try installed(purchase([:]), added: true).isEmpty)
    let known = "The circle knows this purchase already; nothing was changed."
    #expect(try installed(purchase([:]), added: false) == known)
    let unjudged = try installed(purchase(["state": "unjudged"]), added: true)
    #expect(unjudged.hasPrefix("Next: install a build with the trait AppStore, or waymark issuer"))
  }

  @Test func `issuers are listed with what they have issued, also those that are trusted no more`() throws {
    func issuer(_ name: String, withdrawn: Bool, _ count: Int64, until: String?, _ sources: JSON) -> JSON {
      [
        "issuer": Answers.key(name), "withdrawn": .bool(withdrawn), "entitlements": .integer(count),
        "until": .text(until), "sources": sources,
      ]
    }
    func list(_ items: JSON) throws -> (data: String, notes: String) {
      try answerText(ListIssuers.self, "issuer.list", [:], ["items": items])
    }
    let own = Answers.key("own").string ?? ""
    let shop = Answers.key("shop").string ?? ""
    #expect(
      try list([
        issuer("own", withdrawn: false, 2, until: Self.endOf2027, ["self", "gift"]),
        issuer("shop", withdrawn: true, 0, until: nil, []),
      ]).data == "ISSUER STATE ENTITLEMENTS UNTIL SOURCES "
        + "\(own) trusted 2 2027-12-31 UTC self, gift \(shop) withdrawn 0 –")
    #expect(try list([]).notes.hasPrefix("This circle trusts no issuer. Next: waymark premium self, or"))
  }

  @Test func `an entitlement in a file says for whom it is, and where to install it`() throws {
    func issued(_ devices: JSON, own: Bool, output: String?) throws -> String {
      let arguments: JSON = ["key": "/k", "until": "2027-12-31", "device": devices]
      return try answerText(
        IssueEntitlement.self, "issuer.issue", arguments,
        [
          "output": .text(output), "certificate": nil, "circle": Answers.key("circle"),
          "isOwnCircle": .bool(own), "until": .string(Self.endOf2027),
        ]
      ).notes
    }
    #expect(
      try issued(nil, own: true, output: "/e")
        == "Wrote entitlement: this circle, all devices, until 2027-12-31 UTC. "
        + "Next: waymark entitlement install /e")
    #expect(
      try issued(["aa", "bb"], own: false, output: "/a b")
        == "Wrote entitlement: circle 63697263, 2 devices, until 2027-12-31 UTC. "
        + "Next: waymark entitlement install '/a b', on a device of that circle")
    #expect(try issued([], own: true, output: "/e").contains("this circle, all devices, until"))
    #expect(try issued(nil, own: true, output: nil).isEmpty, "it went to standard output")
  }

  // MARK: Records, settings and files

  @Test func `a match of a name repeats the name only for a program`() throws {
    let match: JSON = [
      "kind": "trip", "id": Self.id, "shortId": "2C8B1E60", "name": "Rome", "field": "name",
      "excerpt": "Rome", "parent": nil,
    ]
    let notes: JSON = Answers.completed(["field": "notes", "excerpt": "to Rome"], by: match)
    let answer: JSON = ["text": "rome", "total": 2, "items": [match, notes]]
    #expect(
      try answerText(FindRecords.self, "find", ["text": "rome"], answer).data
        == "ID KIND NAME IN FIELD TEXT 2C8B1E60 trip Rome name 2C8B1E60 trip Rome notes to Rome")
    let command = try ControlRequest(command: "find", arguments: ["text": "rome"])
      .command(as: FindRecords.self)
    var piped = Rendering(
      width: 80, hasColor: false, isPiped: true, notesWidth: 80, notesHaveColor: false,
      time: TimeText(now: 0, zone: .utc))
    command.render(try AnswerCoding.decode(SearchResult.self, from: answer), into: &piped)
    let whole = Self.id.string ?? ""
    #expect(
      piped.data.lines == ["\(whole)\ttrip\tRome\t\tname\tRome", "\(whole)\ttrip\tRome\t\tnotes\tto Rome"])
  }

  @Test func `a setting is printed as it is typed`() throws {
    func got(_ value: JSON) throws -> String {
      let answer: JSON = ["key": "x", "value": value, "source": "settings"]
      return try answerText(GetSetting.self, "settings.get", ["key": "x"], answer).data
    }
    #expect(try got("dark") == "dark")
    #expect(try got(30) == "30")
    #expect(try got(true) == "true")
    #expect(try got(nil) == "")
    let settings: JSON = [
      ["key": "colorScheme", "value": "dark", "source": "settings"],
      ["key": "trashDays", "value": 30, "source": "default"],
    ]
    let list: JSON = ["settings": settings, "keys": 1, "bytes": 10, "overLimit": false]
    #expect(
      try answerText(ListSettings.self, "settings.list", [:], list).data
        == "KEY VALUE FROM colorScheme dark settings trashDays 30 default")
  }

  @Test func `a policy that drops files explains itself when it is set, and a file says if it was here`()
    throws
  {
    func kept(_ policy: String, changed: Bool) throws -> (data: String, notes: String) {
      let answer: JSON = ["keep": .string(policy), "changed": .bool(changed), "files": Answers.files]
      return try answerText(KeepFiles.self, "files.keep", [:], answer)
    }
    let demand = try kept("on-demand", changed: true)
    #expect(demand.data == "on demand")
    #expect(demand.notes.hasPrefix("A file is dropped only once another device says that it keeps it."))
    #expect(try kept("up-to 2000000000", changed: false).data == "up to 2.0 GB")
    #expect(try kept("up-to 2000000000", changed: false).notes.isEmpty)
    let all = try kept("all", changed: true)
    #expect(all.data == "all files" && all.notes.isEmpty)
    for (isFetched, text) in [
      (true, "Fetched “tour.pdf”, 12.0 MB."), (false, "“tour.pdf” is here already."),
    ] {
      let answer: JSON = [
        "id": Self.id, "name": "tour.pdf", "bytes": 12_000_000, "fetched": .bool(isFetched),
      ]
      #expect(try answerText(FetchFile.self, "files.fetch", ["id": "tour.pdf"], answer).notes == text)
    }
  }

  @Test func `an erase tells an empty trash from one without old records, and counts the backups`() throws {
    func erased(_ arguments: JSON, _ more: JSON) throws -> (data: String, notes: String) {
      let document = Answers.completed(
        more,
        by: [
          "preview": true, "records": [], "field": nil, "operation": nil, "devices": [], "backups": [],
          "heldElsewhere": false,
        ])
      return try answerText(EmptyTrash.self, "trash.empty", arguments, document)
    }
    #expect(try erased([:], [:]).notes == "The trash is empty.")
    let old: JSON = ["olderThanMilliseconds": 1_000]
    #expect(try erased(old, [:]).notes == "Nothing in the trash is that old.")
    let backups: JSON = [
      ["path": "/b/1.waymark", "created": .string(Self.hour)],
      ["path": "/b/2.waymark", "created": .string(Self.hour)],
    ]
    let records: JSON = [
      ["kind": "trip", "id": Self.id, "name": "Rome", "deleted": true, "with": nil]
    ]
    let found = try erased(old, ["records": records, "backups": backups])
    #expect(
      found.data == "ID KIND NAME STATE WITH IT 2C8B1E60 trip Rome in the trash "
        + "No other device is known to hold it. These backups hold it and are not changed: "
        + "/b/1.waymark, made 2026-11-21 11:00 /b/2.waymark, made 2026-11-21 11:00")
    #expect(found.notes == "Nothing was erased.")
  }

  @Test func `a conflict about a deletion names the record that hides it, and what each side wrote`() throws {
    func side(_ device: String, _ value: String, _ more: JSON = [:]) -> JSON {
      Answers.completed(
        more,
        by: [
          "value": .string(value), "device": Answers.key(device), "deviceName": .string(device),
          "time": .string(Self.hour),
        ])
    }
    func conflict(_ reason: String, hiddenBy: JSON, _ loser: JSON) -> JSON {
      [
        "id": "c0ffee0011", "kind": "lodging", "record": Self.id, "name": "Casa", "field": nil,
        "reason": .string(reason), "visible": false, "hiddenBy": hiddenBy,
        "winner": side("phone", "deleted"), "losers": [loser],
      ]
    }
    func list(_ conflict: JSON) throws -> String {
      try answerText(ListConflicts.self, "conflicts.list", [:], ["conflicts": [conflict]]).data
    }
    let edited = side("laptop", "edited", ["fields": ["notes": "by the river"]])
    let trip: JSON = ["kind": "trip", "record": Self.id, "name": "Rome"]
    let won = "won by phone 2026-11-21 11:00 deleted "
    #expect(
      try list(conflict("hidden-by-parent", hiddenBy: trip, edited))
        == "c0ffee00 lodging · Casa (hidden by the deleted trip Rome) " + won
        + "kept by laptop 2026-11-21 11:00 edited")
    let gone = side("laptop", "edited", ["erased": true])
    #expect(
      try list(conflict("edit-lost-to-delete", hiddenBy: nil, gone))
        == "c0ffee00 lodging · Casa (edit lost to delete) " + won + "kept by laptop 2026-11-21 11:00 erased")
    #expect(
      try answerText(ListConflicts.self, "conflicts.list", [:], ["conflicts": []]).notes == "No conflicts.")
    let choices: JSON = [
      ["take": "loser", "effect": "restore it", "command": "waymark conflicts resolve c0ffee00 --take loser"]
    ]
    var whole = conflict("edit-lost-to-delete", hiddenBy: nil, edited)
    whole["choices"] = choices
    let one = try answerText(ShowConflict.self, "conflicts.show", ["id": "c0ffee00"], whole)
    #expect(one.data.hasSuffix("Written by laptop: notes by the river"))
    #expect(one.notes == "To restore it: waymark conflicts resolve c0ffee00 --take loser")
  }

  @Test func `a restamp says what is dated ahead, and whether it was changed`() throws {
    func restamped(_ more: JSON) throws -> String {
      let document = Answers.completed(
        more,
        by: [
          "preview": true, "changeSets": 2, "newest": .string(Self.endOf2027), "now": .string(Self.hour),
          "incarnation": nil, "backup": nil,
        ])
      return try answerText(Restamp.self, "restamp", [:], document).notes
    }
    #expect(
      try restamped(["changeSets": 0, "newest": nil]) == "No change of this device is dated ahead.")
    let preview = try restamped([:])
    #expect(preview.hasPrefix("2 change sets dated ahead, up to 2028-01-01"))
    #expect(preview.hasSuffix("Nothing was changed. Next: waymark restamp"))
    let done = try restamped(["preview": false, "changeSets": 1, "backup": "/b.waymark"])
    #expect(done.hasPrefix("1 change set dated ahead, up to 2028-01-01"))
    #expect(done.hasSuffix(", re-signed with the current time. Backup: /b.waymark"))
  }

  @Test func `the introduction is for a new user, and a returning one is told what has arrived`() throws {
    func onboarding(_ flow: String, _ summary: JSON = nil) throws -> String {
      let answer: JSON = [
        "flow": .string(flow), "flag": false, "flagFrom": nil, "flagFromName": nil, "completedHere": false,
        "summary": summary,
      ]
      return try answerText(ShowOnboarding.self, "onboarding.show", [:], answer).data
    }
    #expect(try onboarding("new_user") == "new user: show the introduction")
    #expect(
      try onboarding("completed_here") == "completed here: the introduction is finished on this device")
    func returning(_ name: JSON, _ missing: JSON) throws -> String {
      try onboarding(
        "returning_user",
        [
          "habits": 3, "categories": 1, "trips": 2, "hasProfile": .bool(!name.isNull), "profileName": name,
          "missing": missing,
        ])
    }
    let head = "returning user: your data has arrived from another device habits 3 categories 1 trips 2 "
    #expect(try returning("Ada", []) == head + "hasProfile yes profileName Ada missing –")
    #expect(
      try returning(nil, ["name", "homeTimezone"]) == head + "hasProfile no missing name, homeTimezone")
  }

  @Test func `a page says where it is, and a link that was not opened how to reach it from elsewhere`() throws
  {
    func text(_ answer: ShowPage.Answer) throws -> (data: String, notes: String) {
      let lines = try shown(columns: 200) { ShowPage().render(answer, into: &$0) }
      return (oneLine(lines.data), oneLine(lines.notes))
    }
    let (address, link) = ("http://127.0.0.1:4000/", "http://127.0.0.1:4000/#code")
    let printed = try text(ShowPage.Answer(address: address, code: "code", link: link))
    #expect(printed.data == link)
    #expect(printed.notes.hasPrefix("This link works once, within two minutes."))
    #expect(printed.notes.hasSuffix("ssh -L 127.0.0.1:4000:127.0.0.1:4000 HOST"))
    let opened = try text(ShowPage.Answer(opened: true, address: address, code: "code", link: link))
    #expect(opened.data == link)
    #expect(opened.notes == "The page opens in your browser. If it does not, open this link:")
    let written = try text(ShowPage.Answer(output: "/a.html"))
    #expect(written.data.isEmpty && written.notes == "Wrote /a.html.")
    #expect(
      try text(ShowPage.Answer(output: "/a.html", opened: true)).notes
        == "Wrote /a.html, and opened it in your browser.")
  }

  // MARK: Watching

  private static let lane: JSON = ["open": true, "reason": nil, "digest": "00", "changeSets": 3, "parked": 0]

  /// The status of a device with one peer, which has this many change sets that are not here.
  private func status(behind: Int64, _ more: JSON = [:], seen: String = RemainingAnswerTests.hour) throws
    -> NodeStatus
  {
    let even: JSON = ["open": true, "reason": nil, "behind": 0, "ahead": 0, "digestEqual": true]
    let records: JSON = [
      "open": true, "reason": nil, "behind": .integer(behind), "ahead": 0, "digestEqual": .bool(behind == 0),
    ]
    let lanes: JSON = ["settings": even, "records": records]
    let peer: JSON = [
      "name": "nas", "state": "receiving", "reason": "receiving", "lanes": lanes, "lastSeen": .string(seen),
    ]
    let holder: JSON = [
      "device": Answers.key("nas"), "name": "nas", "lacking": 0, "newestLacking": nil, "asOf": nil,
    ]
    let loss: JSON = ["changeSets": 0, "newest": nil, "devices": [holder]]
    let own: JSON = ["settings": Self.lane, "records": Self.lane]
    return try Answers.status(
      Answers.completed(
        more, by: ["lanes": own, "premium": Self.premium(true), "peers": [peer], "loss": loss]))
  }

  @Test func `a backlog is measured from its largest size, and a later one by itself`() throws {
    var watched = Watched()
    let began = ContinuousClock.now
    func take(_ behind: Int64, after seconds: Int) throws {
      watched.take(try status(behind: behind), [], at: began + .seconds(seconds))
    }
    func progress(_ direction: Watched.Direction, after seconds: Int) throws -> [Int64]? {
      let peer = try #require(watched.status?.peers.first)
      let found = watched.catchUp(peer, direction, at: began + .seconds(seconds))
      return found.map { [$0.done, $0.total, Int64($0.seconds.rounded())] }
    }
    try take(10, after: 0)
    try take(40, after: 1)
    try take(30, after: 2)
    let grown = try progress(.behind, after: 4)
    #expect(grown == [10, 40, 4])
    let other = try progress(.ahead, after: 4)
    #expect(other == nil)
    try take(0, after: 5)
    let done = try progress(.behind, after: 5)
    #expect(done == nil)
    try take(5, after: 10)
    let fresh = try progress(.behind, after: 12)
    #expect(fresh == [0, 5, 2])
  }

  @Test func `a watched status is printed when more than the times in it has changed`() throws {
    var watched = Watched()
    let nothing = watched.news()
    #expect(nothing == nil, "there is no status yet")
    watched.take(try status(behind: 2), [])
    let first = watched.news()
    #expect(first?.hasPrefix(#"{"type":"status","schema":"waymark.status/1","#) == true, "\(first ?? "")")
    let same = watched.news()
    #expect(same == nil)
    watched.take(try status(behind: 2, seen: "2026-11-21T11:59:00Z"), [])
    let later = watched.news()
    #expect(later == nil, "only a time has changed")
    watched.take(try status(behind: 1), [])
    let fewer = watched.news()
    #expect(fewer != nil)
    watched.take(try status(behind: 1, ["conflicts": 1]), [])
    let conflict = watched.news()
    #expect(conflict != nil)
  }

  @Test func `a small window has what needs attention before the peers, and leaves out what is fine`() throws
  {
    var watched = Watched()
    watched.take(try status(behind: 2, ["conflicts": 1]), [])
    let whole = oneLine(try shown { $0.watch(watched) }.data)
    let short = oneLine(try shown { $0.watch(watched, isShort: true) }.data)
    let (fine, wrong) = ("nothing would be lost", "1 conflict needs your decision")
    #expect(whole.contains(fine) && whole.contains(wrong))
    #expect(!short.contains(fine) && short.contains(wrong))
    let place = try #require(short.range(of: wrong)?.lowerBound)
    let peers = try #require(short.range(of: "PEER STATE")?.lowerBound)
    #expect(short.hasPrefix("laptop 00000000 running") && place < peers)
  }
}
