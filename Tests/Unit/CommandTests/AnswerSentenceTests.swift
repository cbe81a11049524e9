import Console
import Control
import JSONDocument
import Testing
import WaymarkCare
import Wire

@testable import NodeOperations
@testable import NodeRuntime
@testable import Waymark
@testable import WaymarkCommand

/// What a person reads after a command has done something.
struct AnswerSentenceTests {
  @Test func `a change of the addresses that are dialled names the address`() throws {
    let added = try answerText(
      AddPeer.self, "peers.add", ["address": "nas:7433"], ["address": "nas:7433", "running": true])
    #expect(added.notes == "This device now also dials nas:7433.")
    let removed = try answerText(
      RemovePeer.self, "peers.remove", ["address": "nas:7433"], ["address": "nas:7433"])
    #expect(removed.notes == "Removed nas:7433.")
  }

  @Test func `a ping shows each round trip, and where the peer is if that is known`() throws {
    func ping(_ address: JSON) throws -> String {
      let answer: JSON = [
        "device": Answers.key("nas"), "name": "nas", "address": address,
        "roundTripsMilliseconds": [1.5, 20.25],
      ]
      return try answerText(PingPeer.self, "peers.ping", ["peer": "nas"], answer).data
    }
    #expect(try ping("10.0.0.5:7433") == "nas at 10.0.0.5:7433 answers: 1.5 ms, 20.25 ms")
    #expect(try ping(nil) == "nas answers: 1.5 ms, 20.25 ms")
  }

  @Test func `who leaves a circle learns which devices were told`() throws {
    func left(_ told: JSON) throws -> (data: String, notes: String) {
      let answer: JSON = [
        "hasLeft": true, "told": told, "admins": [], "text": "This device has left the circle.",
        "next": nil,
      ]
      return try answerText(LeaveCircle.self, "members.leave", ["yes": true], answer)
    }
    let nas: JSON = ["device": Answers.key("nas"), "name": "nas"]
    let phone: JSON = ["device": Answers.key("phone"), "name": "phone"]
    let both = try left([nas, phone])
    #expect(both.data == "This device has left the circle.")
    #expect(both.notes == "Told: nas, phone.")
    #expect(try left([]).notes.isEmpty)
  }

  @Test func `trips that were cleaned up are counted, and their backup is named`() throws {
    let trip: JSON = [
      "id": "0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60", "name": "Test trip 1", "mark": "test trip", "items": 0,
    ]
    func cleaned(isPreview: Bool) throws -> String {
      let answer: JSON = [
        "preview": .bool(isPreview), "deleted": 1, "operation": nil, "backup": "/b/before-1.waymark",
        "trips": [trip],
      ]
      return try answerText(CleanUp.self, "cleanup", [:], answer).notes
    }
    #expect(try cleaned(isPreview: false) == "Deleted 1 trip. Backup: /b/before-1.waymark")
    #expect(try cleaned(isPreview: true) == "Nothing was deleted. Next: waymark cleanup")
  }

  @Test func `a list of backups says who made each, and which can only give back files`() throws {
    let own: JSON = [
      "name": "before-join.waymark", "created": "2026-11-20T10:00:00Z", "bytes": 2_000, "isAutomatic": true,
      "isFolder": false, "restorable": "/b/before-join.waymark",
    ]
    let replaced: JSON = [
      "name": "before-restore", "created": "2026-11-19T10:00:00Z", "bytes": 3_000, "isAutomatic": true,
      "isFolder": true, "restorable": nil,
    ]
    let damaged: JSON = [
      "name": "damaged.waymark", "created": "2026-11-18T11:00:00Z", "bytes": 9_000, "isAutomatic": false,
      "isFolder": false, "restorable": nil,
    ]
    let chosen: JSON = [
      "name": "mine.waymark", "created": "2026-11-18T10:00:00Z", "bytes": 4_000, "isAutomatic": false,
      "isFolder": false, "restorable": "/b/mine.waymark",
    ]
    let shown = try answerText(
      ListBackups.self, "backups.list", [:], ["folder": "/b", "items": [own, replaced, damaged, chosen]])
    #expect(
      shown.data == "MADE SIZE BY BACKUP 2026-11-20 10:00 2.0 kB waymark before-join.waymark "
        + "2026-11-19 10:00 3.0 kB waymark before-restore (only the replaced files) "
        + "2026-11-18 11:00 9.0 kB you damaged.waymark (not a readable backup) "
        + "2026-11-18 10:00 4.0 kB you mine.waymark")
    #expect(shown.notes == "They are in /b.")
    let none = try answerText(ListBackups.self, "backups.list", [:], ["folder": "/b", "items": []])
    #expect(none.data.isEmpty && none.notes == "No backups in /b.")
  }

  @Test func `what was removed is counted, and nothing is said to be nothing`() throws {
    func pruned(_ removed: JSON, _ bytes: JSON) throws -> String {
      try answerText(PruneBackups.self, "backups.prune", [:], ["removed": removed, "bytes": bytes]).notes
    }
    #expect(try pruned(["a", "b"], 2_000) == "Removed 2 backups, 2.0 kB.")
    #expect(try pruned([], 0) == "There is nothing to remove.")
  }

  @Test func `a field that already has its value is no change`() throws {
    func set(_ isChanged: Bool) throws -> String {
      try answerText(
        SetProfile.self, "profile.set", ["fields": [["name", "Ada"]]],
        ["changed": .bool(isChanged), "updatedAt": nil]
      ).notes
    }
    #expect(try set(true) == "Changed.")
    #expect(try set(false) == "No change: it already has this value.")
  }

  @Test func `paths leave out the keys that this device does not have`() throws {
    func paths(_ rootKey: JSON) throws -> String {
      let answer: JSON = [
        "home": "/h", "store": "/h/store.db", "keys": "/h/keys", "deviceKey": "/h/keys/device.key",
        "rootKey": rootKey, "issuerKey": nil,
        "passphrases": ["device": "plain", "root": nil, "issuer": nil], "settings": "/h/settings.json",
        "backups": "/h/backups", "socket": "/h/control.sock",
      ]
      return try answerText(ShowPaths.self, "paths", [:], answer).data
    }
    let admin = try paths("/h/keys/root.key")
    #expect(admin.hasPrefix("home /h store /h/store.db keys /h/keys device key /h/keys/device.key"))
    #expect(admin.contains("root key /h/keys/root.key") && admin.hasSuffix("socket /h/control.sock"))
    let member = try paths(nil)
    #expect(!member.contains("root key") && !member.contains("issuer key"), "\(member)")
  }

  @Test func `certificates that have not all arrived are part of a comparison`() throws {
    func compared(_ isEqual: Bool) throws -> String {
      let peer = PeerVerification.Peer(
        device: DeviceKey(Bytes32(0, 0, 0, 0)), name: "nas", verdict: isEqual ? .equal : .notInSync,
        certificatesEqual: isEqual, lanes: .init(settings: .equal, records: .equal), next: nil)
      let verification = PeerVerification(verdict: peer.verdict, peers: [peer])
      let answer = try AnswerCoding.encode(Verify.Answer.peers(verification))
      return try answerText(Verify.self, "verify", [:], answer).data
    }
    let same = "nas: settings equal · records equal"
    #expect(try compared(true) == same)
    #expect(try compared(false) == same + " the certificates of the circle have not all arrived yet")
  }
}
