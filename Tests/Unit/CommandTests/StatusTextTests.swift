import Console
import Control
import JSONDocument
import NodeRuntime
import Platform
import Testing
import Waymark
import WaymarkCare

@testable import WaymarkCommand

/// The words of `status`, `peers` and `why` in the states that the golden pages don't show.
struct StatusTextTests {
  private static let own: JSON = ["open": true, "reason": nil, "digest": "00", "changeSets": 3, "parked": 0]
  private static let even = lane(behind: 0, ahead: 0, equal: true)
  private static let unknown = lane(behind: nil, ahead: nil, equal: nil)
  private static let closed: JSON = [
    "open": false, "reason": "peer_sync_off", "behind": nil, "ahead": nil, "digestEqual": nil,
  ]

  private static func lane(behind: Int64?, ahead: Int64?, equal: Bool?) -> JSON {
    [
      "open": true, "reason": nil, "behind": behind.map { .integer($0) } ?? nil,
      "ahead": ahead.map { .integer($0) } ?? nil, "digestEqual": equal.map { .bool($0) } ?? nil,
    ]
  }

  private func peer(
    _ name: String, _ state: String, settings: JSON = StatusTextTests.even, records: JSON, _ more: JSON = [:]
  ) -> JSON {
    let lanes: JSON = ["settings": settings, "records": records]
    return Answers.completed(
      more,
      by: [
        "device": Answers.key(name), "name": .string(name), "state": .string(state),
        "reason": .string(state), "lanes": lanes,
      ])
  }

  private func cause(
    _ reason: String, _ text: String, next: String?, of peer: String? = nil, affects: JSON = []
  )
    -> JSON
  {
    [
      "reason": .string(reason), "text": .string(text), "next": .text(next),
      "device": peer.map { Answers.key($0) } ?? nil, "name": .text(peer), "consequences": affects,
    ]
  }

  private func status(_ document: JSON) throws -> NodeStatus {
    let lanes: JSON = ["settings": Self.own, "records": Self.own]
    let premium: JSON = ["active": true, "source": "certificate", "validUntil": nil]
    let sync: JSON = ["preference": true, "active": true, "reason": nil]
    return try Answers.status(
      Answers.completed(document, by: ["lanes": lanes, "premium": premium, "sync": sync]))
  }

  private func text(_ document: JSON) throws -> String {
    let status = try status(document)
    return oneLine(try shown(columns: 200) { $0.status(status) }.data)
  }

  // MARK: Lanes

  @Test func `a lane names the peer for each direction, and counts the peers that it is in sync with`() throws
  {
    let peers: [JSON] = [
      peer("nas", "in_sync", records: Self.even),
      peer("phone", "receiving", records: Self.lane(behind: 3, ahead: 1, equal: false)),
      peer("tablet", "connecting", records: Self.unknown),
    ]
    #expect(
      try text(["peers": .array(peers)]).contains(
        "settings in sync with 3 of 3 peers records in sync with 1 of 3 peers · 1 change set not yet on phone · "
          + "3 change sets still to come from phone here nothing yet"))
    let one = try text(["peers": [peer("tablet", "connecting", records: Self.unknown)]])
    #expect(one.contains("settings in sync with 1 of 1 peer records not in sync yet here"))
  }

  @Test func `a lane that is closed to all peers says whether any peer is connected`() throws {
    func records(_ states: [String]) throws -> Bool {
      let peers = states.map { peer("phone \($0)", $0, records: Self.closed) }
      let text = try text(["peers": .array(peers)])
      let isAccepted = text.contains("records no peer accepts them now")
      #expect(isAccepted != text.contains("records no peer is connected"), "\(text)")
      return isAccepted
    }
    #expect(try records(["offline", "in_sync"]))
    #expect(try records(["offline", "connecting"]) == false)
  }

  @Test func `what is parked is shown with its lane, and conflicts only with the records`() throws {
    let parked = Answers.completed(["parked": 1], by: Self.own)
    let text = try text([
      "peers": [peer("nas", "in_sync", records: Self.even)],
      "lanes": ["settings": parked, "records": Self.own], "conflicts": 2,
    ])
    #expect(
      text.contains(
        "settings in sync with 1 of 1 peer · 1 change set parked until their time comes "
          + "records in sync with 1 of 1 peer · 2 conflicts here"))
    #expect(text.contains("2 conflicts need your decision: waymark conflicts"))
  }

  @Test func `a closed lane gives the cause on this device, not that of a peer`() throws {
    func records(_ reason: String, _ causes: [JSON]) throws -> String {
      let closed: JSON = [
        "open": false, "reason": .string(reason), "digest": "00", "changeSets": 3, "parked": 0,
      ]
      return try text(["lanes": ["settings": Self.own, "records": closed], "reasons": .array(causes)])
    }
    let causes = [
      cause("sync_off", "of phone", next: "waymark peers", of: "phone"),
      cause("free_tier", "of the free tier", next: nil),
      cause("sync_off", "sync of records is off on this device", next: "waymark sync on"),
    ]
    #expect(
      try records("sync_off", causes).contains(
        "settings no other device yet records sync of records is off on this device (waymark sync on) here"))
    #expect(try records("free_tier", causes).contains("records stay on this device here"))
    #expect(try records("sync_off", []).contains("records sync_off here"))
  }

  // MARK: Head and closing lines

  @Test func `the head says whether the node runs, and what it is to the circle`() throws {
    #expect(try text([:]).contains("running premium sync on settings"))
    let off: JSON = ["preference": false, "active": false, "reason": "sync_off"]
    #expect(try text(["listen": nil, "sync": off]).contains("not running premium sync off settings"))
    let notice: JSON = [
      "reason": "revoked", "severity": "error", "text": "this device was revoked by alice",
      "next": "waymark join TICKET",
    ]
    let revoked = try text(["notices": [notice]])
    #expect(revoked.contains("running not in the circle settings"))
    #expect(!revoked.contains("sync on"))
    #expect(revoked.hasSuffix("This device was revoked by alice: waymark join TICKET"))
  }

  @Test func `a node that does not run is worth a line only if there are other devices`() throws {
    let line = "The node is not running, so nothing is exchanged: waymark run"
    let peers: JSON = [peer("nas", "offline", records: Self.unknown)]
    #expect(try text(["listen": nil, "peers": peers]).contains(line))
    #expect(try !text(["listen": nil]).contains(line))
    #expect(try !text(["peers": peers]).contains(line))
  }

  @Test func `a missing network is reported for this device, and what has a notice is not reported twice`()
    throws
  {
    let own = cause(
      "no_route", "this machine can't reach any of the other devices", next: "check the network",
      affects: ["nas", "phone"])
    #expect(
      try text(["reasons": [own]]).contains(
        "This machine can't reach any of the other devices: check the network"))
    #expect(
      try !text(["reasons": [cause("no_route", "this machine has no route", next: nil, of: "nas")]]).contains(
        "has no route"))

    let conflicts: JSON = ["reason": "conflicts", "text": "2 conflicts wait", "next": "waymark conflicts"]
    let noticed = try text(["conflicts": 2, "notices": [conflicts]])
    #expect(noticed.contains("2 conflicts wait: waymark conflicts") && !noticed.contains("your decision"))

    // Only a mass deletion can be acknowledged.
    let deletion: JSON = ["reason": "mass_delete", "text": "30 trips are gone", "next": "waymark undo 12"]
    #expect(
      try text(["notices": [deletion]]).contains(
        "30 trips are gone (if that was intended: waymark status --acknowledge): waymark undo 12"))
    #expect(!noticed.contains("--acknowledge"))
  }

  @Test func `only a status that is checked explains its exit code`() throws {
    let late: JSON = [
      "reason": "offline", "text": "bob can't be reached.", "next": "waymark run, on bob",
    ]
    let status = try status(["notInSync": late])
    for check in [true, false] {
      var command = ShowStatus()
      command.check = check
      let asked = command
      let notes = oneLine(try shown(columns: 200) { asked.render(status, into: &$0) }.notes)
      #expect(notes == (check ? "Exit code 5: bob can't be reached. Next: waymark run, on bob" : ""))
    }
  }

  // MARK: Premium

  @Test(
    arguments: [
      ("all-features", "2027-03-01T00:00:00Z", nil, "premium (all features build)"),
      ("mock", "2027-03-01T00:00:00Z", nil, "premium (mock purchase) until 2027-02-28 UTC"),
      ("certificate", "2027-03-01T15:30:00Z", nil, "premium until 2027-03-01 15:30 UTC"),
      ("certificate", nil, nil, "premium"),
      ("purchase", "2027-03-01T00:00:00Z", nil, "premium (App Store) until 2027-02-28 UTC"),
      ("none", nil, "free_tier", "free"), ("none", nil, nil, "free"),
      ("none", nil, "entitlement_expired", "premium expired"),
      ("none", nil, "entitlement_not_yet_valid", "premium not valid yet"),
      ("none", nil, "purchase_refunded", "premium refunded"),
      ("none", nil, "purchase_unconfirmed", "premium not confirmed"),
      ("none", nil, "purchase_unjudged", "premium not verifiable by this build"),
      ("none", nil, "entitlement_withdrawn", "premium withdrawn"),
    ] as [(String, String?, String?, String)])
  func `premium is named with its source and its end in UTC, or with the reason why there is none`(
    source: String, until: String?, reason: String?, text: String
  ) throws {
    let document: JSON = [
      "active": .bool(source != "none"), "source": .string(source), "validUntil": .text(until),
      "reason": .text(reason),
    ]
    let premium = try AnswerCoding.decode(SyncState.Premium.self, from: document)
    let zone = try #require(Zone(named: "Asia/Tokyo"))
    let rendering = Rendering(
      width: 200, hasColor: false, notesWidth: 200, notesHaveColor: false, time: TimeText(now: 0, zone: zone))
    let rest =
      source == "none" ? " · settings sync, records stay on this device (waymark help premium)" : ""
    #expect(rendering.premiumText(premium) == text + rest)
  }

  // MARK: Replication risk

  private func holder(_ name: String, _ lacking: Int64?, asOf: String? = nil) -> JSON {
    [
      "device": Answers.key(name), "name": .string(name), "lacking": lacking.map { .integer($0) } ?? nil,
      "newestLacking": nil, "asOf": .text(asOf),
    ]
  }

  private static let before = "2026-11-21T10:00:00Z"

  private func risk(
    _ changeSets: Int64, _ holders: [JSON], connected: [String] = [], files: Int64 = 0, newest: JSON = nil
  ) throws -> String {
    var totals = Answers.files
    totals["lastCopies"] = .integer(files)
    totals["lastCopyBytes"] = .integer(files * 1_000_000)
    let peers = holders.map { holder -> JSON in
      let name = holder["name"]?.string ?? ""
      return connected.contains(name)
        ? peer(name, "sending", records: Self.even) : peer(name, "offline", records: Self.unknown)
    }
    let loss: JSON = [
      "changeSets": .integer(changeSets), "newest": newest, "devices": .array(holders),
    ]
    return try text(["peers": .array(peers), "files": totals, "loss": loss])
  }

  @Test func `what is safe is said of the devices whose word is newest`() throws {
    let safe = "If this disk died now, nothing would be lost: "
    let (nas, phone) = (holder("nas", 0, asOf: Self.before), holder("phone", 0, asOf: Self.before))
    let desk = holder("desk", 0)
    #expect(try risk(0, [nas, phone], connected: ["phone"]).contains(safe + "phone has everything."))
    #expect(
      try risk(0, [nas, phone], connected: ["nas", "phone"]).contains(safe + "nas and phone have everything.")
    )
    #expect(
      try risk(0, [desk, nas, phone], connected: ["desk", "nas", "phone"]).contains(
        safe + "desk, nas and phone have everything."))
    #expect(try risk(0, [nas]).contains(safe + "nas has everything (as of 2 h ago)."))
    // A connected device that lacks something is not one that has everything.
    let behind = holder("phone", 2, asOf: Self.before)
    #expect(
      try risk(0, [nas, behind], connected: ["phone"]).contains(safe + "nas has everything (as of 2 h ago)."))
    let part = holder("nas", 1, asOf: Self.before)
    #expect(try risk(0, [part, behind]).contains(safe + "nas and phone together have everything."))
  }

  @Test func `what would be lost is said with what each device lacks, unless only one is known`() throws {
    let newest: JSON = [
      "id": .string(String(repeating: "0", count: 32)), "verb": nil, "time": "2026-11-21T11:00:00Z",
      "deviceName": "laptop",
    ]
    let nas = holder("nas", 2, asOf: Self.before)
    let text = try risk(
      2, [nas, holder("phone", 1_200, asOf: Self.before), holder("tablet", nil)], connected: ["phone"],
      newest: newest)
    #expect(
      text.contains(
        "If this disk died now, 2 change sets would be lost; the newest: a change, 11:00. "
          + "nas lacks 2 (as of 2 h ago) · phone lacks 1,200"))
    #expect(!text.contains("tablet lacks"))
    let one = try risk(1, [nas, holder("tablet", nil)], files: 2)
    #expect(one.contains("If this disk died now, 1 change set and 2 files (2.0 MB) would be lost."))
    #expect(!one.contains("lacks"))
    #expect(
      try risk(0, [nas], files: 1).contains(
        "1 file (1.0 MB) would be lost: no other device has said that it has it."))
  }

  @Test func `that no device has reported is said only if there is anything to lose`() throws {
    let line = "No other device has reported yet what it holds: this may be the only copy of your data."
    #expect(try risk(1, [holder("nas", nil)]).contains(line))
    #expect(try risk(0, [holder("nas", nil)], files: 1).contains(line))
    #expect(try !risk(0, [holder("nas", nil)]).contains("copy of your data"))
    let alone = try risk(1, [])
    #expect(!alone.contains("this disk") && !alone.contains("copy of your data"))
  }

  // MARK: Addresses and peers

  private func address(_ text: String, _ name: String?, _ failure: String?, saved: Bool = true) -> JSON {
    [
      "address": .string(text), "saved": .bool(saved), "device": name.map { Answers.key($0) } ?? nil,
      "name": .text(name), "reason": .text(failure),
    ]
  }

  @Test func `an address that fails says why and how to remove it; status shows only those`() throws {
    let addresses: JSON = [
      address("10.0.0.1:7433", nil, nil), address("10.0.0.2:7433", "nas", nil),
      address("10.0.0.3:7433", nil, "dial_refused"),
      address("10.0.0.4:7433", "phone", "dial_refused", saved: false),
    ]
    let failed =
      "10.0.0.3:7433 no answer: no node is listening at its address · waymark peers remove 10.0.0.3:7433 "
      + "10.0.0.4:7433 phone: no node is listening at its address"
    let status = try text(["addresses": addresses])
    #expect(status.contains("ADDED ADDRESS DEVICE " + failed))
    #expect(!status.contains("peers remove 10.0.0.4"))
    let list = try answerText(
      ListPeers.self, "peers.list", [:],
      ["peers": [], "addresses": addresses, "running": true, "reasons": []])
    #expect(list.notes == "No other device yet. Next: waymark invite")
    #expect(
      list.data == "ADDED ADDRESS DEVICE 10.0.0.1:7433 not reached yet 10.0.0.2:7433 nas " + failed)
  }

  @Test func `peers show where each one is, and a common cause once, without changing the name of a device`()
    throws
  {
    func reached(_ name: String, _ source: String) -> JSON {
      peer(
        name, "in_sync", records: Self.even,
        ["address": .string(name + ":7433"), "addressSource": .string(source)])
    }
    let away: JSON = [
      "reason": "no_route", "consequenceOf": "no_route", "lastSeen": "2026-11-21T10:02:00Z",
      "address": "10.0.0.5:7433",
    ]
    let peers: JSON = [
      reached("a", "beacon"), reached("b", "announced"), reached("c", "given"), reached("d", "incoming"),
      peer("phone", "offline", records: Self.unknown, away),
    ]
    let causes: JSON = [
      cause("no_route", "this machine can't reach them", next: "check the network", affects: ["phone"]),
      cause("revoked", "phone was revoked", next: nil, affects: ["phone"]),
      cause("sync_off", "without consequence", next: nil),
      cause("paused", "of a peer", next: nil, of: "phone", affects: ["phone"]),
    ]
    let list = try answerText(
      ListPeers.self, "peers.list", [:],
      ["peers": peers, "addresses": [], "running": true, "reasons": causes])
    for place in [
      "at a:7433, found on this network", "at b:7433, announced to the circle", "at c:7433, given by you",
      "at d:7433, where it dialled from",
    ] { #expect(list.data.contains(place)) }
    // What follows from a common cause is not explained again.
    #expect(list.data.contains("phone offline 0 0 never last seen 10:02 at 10.0.0.5:7433"))
    #expect(!list.data.contains("no route"))
    #expect(
      list.notes == "This machine can't reach them: check the network phone was revoked.")
  }

  @Test func `why says what a peer holds, which way its clock differs, and what resolves itself`() throws {
    func explained(_ peer: JSON, _ causes: [JSON], lacking: Int64?, asOf: String? = nil) throws -> String {
      let document: JSON = [
        "subject": "peer", "peer": peer, "causes": .array(causes),
        "lacking": lacking.map { .integer($0) } ?? nil, "newestLacking": nil, "asOf": .text(asOf),
        "record": nil, "values": [],
      ]
      return try answerText(Explain.self, "why", ["subject": "phone"], document).data
    }
    let near = peer(
      "phone", "in_sync", records: Self.lane(behind: 3, ahead: 1_200, equal: false),
      ["clockSkewMilliseconds": 97_000, "roundTripMilliseconds": 4])
    let whole = try explained(near, [], lacking: 0, asOf: Self.before)
    #expect(whole.contains("in sync Nothing prevents it from being in sync."))
    #expect(whole.contains("settings equal on both sides records 3 to receive, 1,200 to send"))
    #expect(whole.contains("it holds everything that this device holds, as of 2 h ago"))
    #expect(whole.contains("round trip 4 ms its clock 1 min ahead"))

    let far = peer(
      "phone", "offline", records: Self.closed, ["clockSkewMilliseconds": -999, "reason": "no_route"])
    let causes = [
      cause(
        "no_route", "this machine can't reach them", next: "check the network", affects: ["nas", "phone"]),
      cause("sending", "phone is busy", next: nil, of: "phone", affects: ["phone"]),
    ]
    let text = try explained(far, causes, lacking: nil)
    #expect(
      text.contains(
        "This machine can't reach them. (no_route) Next: check the network This affects nas, phone."))
    #expect(text.contains("phone is busy. (sending) Nothing to do: this resolves itself. settings"))
    #expect(text.contains("records closed: peer_sync_off it holds not known"))
    #expect(!text.contains("its clock"), "less than a second")
    #expect(
      try explained(far, [], lacking: 1).contains("it holds everything except 1 change set last sync never"))
  }
}
