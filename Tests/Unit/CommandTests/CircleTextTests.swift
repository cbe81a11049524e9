import Console
import Control
import JSONDocument
import NodeOperations
import NodeRuntime
import Testing
import Waymark
import WaymarkCare

@testable import WaymarkCommand

/// What a person reads about members, invitations, premium, backups and keys.
struct CircleTextTests {
  private static let hour = "2026-11-21T11:00:00Z"
  private static let twoDays = "2026-11-19T11:00:00Z"

  // MARK: Members

  private func usage(settings: Int64, records: Int64, quota: Int64 = 1 << 30) -> JSON {
    let first: JSON = ["lane": "settings", "bytes": .integer(settings), "quota": 4_194_304]
    let second: JSON = ["lane": "records", "bytes": .integer(records), "quota": .integer(quota)]
    return [first, second]
  }

  private func revocation(_ name: String, _ issued: String) -> JSON {
    ["id": "01", "issued": .string(issued), "by": Answers.key(name), "byName": .string(name)]
  }

  private func device(_ name: String) -> JSON { ["device": Answers.key(name), "name": .string(name)] }

  /// The row of a member in the table, without its name.
  private func row(_ more: JSON) throws -> String {
    let member = Answers.completed(
      more,
      by: [
        "device": Answers.key("nas"), "name": "nas", "role": "member", "own": false, "revoked": false,
        "leaving": false, "admittedBy": nil, "lastSeen": .string(Self.hour), "revocations": [],
        "notHeard": [], "usage": usage(settings: 1_024, records: 1_024),
      ])
    let text = try answerText(ListMembers.self, "members.list", [:], ["members": [member]]).data
    let head = "NAME DEVICE ROLE LAST SEEN WRITTEN STATE nas 6e617300 "
    #expect(text.hasPrefix(head), "\(text)")
    return String(text.dropFirst(head.count))
  }

  @Test func `the state of a member says who decided, when, and who does not know it yet`() throws {
    #expect(try row([:]) == "member 1 h ago 2 KiB member of the circle")
    // This device does not see itself.
    #expect(try row(["own": true, "role": "admin"]) == "admin 2 KiB this device")
    let leaving = "leaving: an admin completes that when connected"
    #expect(try row(["leaving": true]).hasSuffix("2 KiB \(leaving)"))
    #expect(try row(["leaving": true, "own": true]).hasSuffix("2 KiB this device, \(leaving)"))
    let own: JSON = [revocation("nas", Self.twoDays)]
    #expect(
      try row(["leaving": true, "revoked": true, "revocations": own]).hasSuffix("KiB left the circle 2 d ago")
    )
    let both: JSON = [revocation("laptop", Self.hour), revocation("phone", Self.twoDays)]
    #expect(
      try row(["revoked": true, "revocations": both]).hasSuffix(
        "KiB revoked by laptop 1 h ago, by phone 2 d ago"))
    let unheard: JSON = [device("desk"), device("tablet")]
    #expect(
      try row(["revoked": true, "own": true, "revocations": both, "notHeard": unheard]).hasSuffix(
        "KiB this device, revoked by laptop 1 h ago, by phone 2 d ago · not yet known to: desk, tablet"))
  }

  @Test func `what a member has written is shown with the quota of each lane of which a tenth is used`()
    throws
  {
    func written(_ usage: JSON) throws -> String {
      let text = try row(["usage": usage])
      return String(text.dropFirst("member 1 h ago ".count).dropLast(" member of the circle".count))
    }
    #expect(try written(usage(settings: 1, records: 1_023, quota: 10_240)) == "1 KiB")
    #expect(try written(usage(settings: 1, records: 1_024, quota: 10_240)) == "1 KiB of 10 KiB records")
    #expect(try written(usage(settings: 1 << 20, records: 0)) == "1 MiB of 4 MiB settings")
    #expect(
      try written(usage(settings: 1 << 20, records: 1 << 29))
        == "1 MiB of 4 MiB settings, 512 MiB of 1 GiB records")
    #expect(try written(usage(settings: 0, records: 0)) == "0 bytes")
  }

  private func revoking(_ names: [String], discard: Bool, done: Bool) -> JSON {
    let revoked = names.map { name -> JSON in
      [
        "device": Answers.key(name), "name": .string(name), "role": "admin", "statement": nil,
        "keptLogs": 1, "changeSets": 3, "lastChanged": nil, "invited": [], "hadRevoked": [], "notHeard": [],
      ]
    }
    return [
      "preview": .bool(!done), "done": .bool(done), "discard": .bool(discard), "revoked": .array(revoked),
      "already": [], "by": Answers.key("laptop"), "byName": "this device", "warnings": [],
      "notes": ["phone is an admin"], "text": "Revoke them?", "next": nil,
    ]
  }

  @Test func `a revocation asks for a typed word only if it discards, and shows its notes only before`()
    throws
  {
    func word(_ names: [String], discard: Bool) throws -> String? {
      let document = revoking(names, discard: discard, done: false)
      return Revoke.confirmation(of: try AnswerCoding.decode(RevocationSummary.self, from: document))?.word
    }
    #expect(try word(["phone"], discard: false) == nil)
    #expect(try word(["phone"], discard: true) == "phone")
    #expect(try word(["phone", "desk"], discard: true) == "2")
    #expect(try word([], discard: true) == nil)
    let before = try answerText(
      Revoke.self, "revoke", [:], revoking(["phone"], discard: true, done: false))
    #expect(before.data == "Revoke them?" && before.notes == "phone is an admin")
    let after = try answerText(Revoke.self, "revoke", [:], revoking(["phone"], discard: true, done: true))
    #expect(after.notes.isEmpty)
  }

  @Test func `a change of a member names it, and says if there was nothing to change`() throws {
    func change(_ name: String, before: String, _ isChanged: Bool) -> JSON {
      [
        "device": Answers.key("phone"), "name": .string(name), "previousName": .string(before),
        "role": "admin", "changed": .bool(isChanged),
      ]
    }
    func renamed(_ answer: JSON) throws -> String {
      try answerText(RenameDevice.self, "rename", ["name": "desk"], answer).notes
    }
    #expect(
      try renamed(change("desk", before: "phone", true)) == "phone is called desk now, on all devices.")
    #expect(
      try renamed(change("desk", before: "desk", false)) == "The name is already desk; nothing was changed.")
    func promoted(_ answer: JSON) throws -> String {
      try answerText(PromoteMember.self, "members.promote", ["device": "phone"], answer).notes
    }
    #expect(
      try promoted(change("phone", before: "phone", true))
        == "phone is an admin now: it may invite and revoke devices.")
    #expect(try promoted(change("phone", before: "phone", false)) == "phone is already an admin.")

    let grant: JSON = [
      "device": Answers.key("phone"), "name": "phone", "lane": "settings", "quota": 2_147_483_648,
      "previous": 1_073_741_824, "bytes": 1_536,
    ]
    #expect(
      try answerText(GrantRoom.self, "grant", ["device": "phone", "size": "2GiB"], grant).data
        == "phone may write 2 GiB of settings, instead of 1 GiB; 1.5 KiB are written.")
  }

  @Test func `a peer with another name here is named by both, and quoted in commands`() throws {
    func renamed(_ name: String) throws -> String {
      let answer: JSON = ["device": Answers.key("phone"), "name": .string(name), "ownName": "phone"]
      return try answerText(RenamePeer.self, "peers.rename", ["peer": "phone"], answer).notes
    }
    #expect(try renamed("old phone") == "phone is now called old phone on this device.")
    #expect(try renamed("phone") == "phone is shown under its own name again.")
    let paused: JSON = ["device": Answers.key("phone"), "name": "old phone", "paused": true]
    #expect(
      try answerText(PausePeer.self, "peers.pause", ["peer": "x"], paused).notes
        == "Paused: this device no longer exchanges data with old phone. "
        + "To resume: waymark peers resume 'old phone'")
    #expect(
      try answerText(ResumePeer.self, "peers.resume", ["peer": "x"], paused).notes
        == "Resumed: this device exchanges data with old phone again.")
  }

  // MARK: Joining

  private func joined(_ more: JSON) throws -> String {
    let document = Answers.completed(
      more,
      by: [
        "circle": Answers.key("circle"), "device": Answers.key("phone"), "name": "phone", "rewritten": 0,
        "brought": [:], "wasMember": false, "askedName": nil, "formerMember": nil,
      ])
    return try answerText(JoinCircle.self, "join", [:], document).notes
  }

  @Test func `a join explains a name that differs from the one asked for, and a member with former keys`()
    throws
  {
    let next = "Next: waymark service install, or waymark run"
    #expect(try joined(["askedName": "phone"]) == next)
    #expect(
      try joined(["askedName": "phone", "name": "phone 2"])
        == "Another device is called “phone”, so this one is called “phone 2”. " + next)
    #expect(
      try joined(["askedName": "desk"]) == "The circle already knows this device as “phone”. " + next)
    #expect(
      try joined(["formerMember": device("old")])
        == "“old” is still in the circle with its former keys. "
        + "To revoke it: waymark revoke 6f6c640000000000, on an admin device " + next)
    let again = "that the revocation had excluded"
    #expect(try joined(["rewritten": 1]) == "1 record \(again) was re-created: waymark history " + next)
    #expect(try joined(["rewritten": 3]) == "3 records \(again) were re-created: waymark history " + next)
    #expect(
      try joined(["wasMember": true, "askedName": "desk", "rewritten": 2])
        == "This device (phone) has already joined with this ticket; nothing was changed. Next: waymark status"
    )
  }

  @Test func `open invitations are listed with their kind, role, end and tries`() throws {
    let ticket: JSON = [
      "id": "aa", "kind": "ticket", "role": "admin", "expires": "2026-11-21T12:10:00Z", "triesLeft": nil,
    ]
    let code: JSON = [
      "id": "bb", "kind": "code", "role": "member", "expires": "2026-11-23T12:10:00Z", "triesLeft": 0,
    ]
    let list = try answerText(ListInvitations.self, "invite.list", [:], ["items": [ticket, code]])
    #expect(
      list.data == "ID KIND ROLE EXPIRES TRIES LEFT aa ticket admin 12:10 bb code member 2026-11-23 12:10 0")
    #expect(
      try answerText(ListInvitations.self, "invite.list", [:], ["items": []]).notes
        == "No invitation is open.")
    #expect(
      try answerText(CancelInvitation.self, "invite.cancel", ["id": "bb"], ["cancelled": code]).notes
        == "The code can't be used any more.")
    for (role, words) in [("admin", "an admin"), ("member", "a member")] {
      let invite = try ControlRequest(command: "invite", arguments: ["role": .string(role)])
        .command(as: Invite.self)
      #expect(invite.terms(lifetime: "1 h") == "admits one device as \(words) and expires in 1 h")
    }
  }

  // MARK: Sync and premium

  @Test func `sync says where records go, and offers the next step to those who want it`() throws {
    func sync(_ more: JSON) throws -> (data: String, notes: String) {
      let premium: JSON = ["active": true, "source": "certificate", "validUntil": nil, "reason": nil]
      let document = Answers.completed(
        more,
        by: [
          "preference": true, "active": true, "reason": nil, "text": nil, "next": nil, "invited": false,
          "premium": premium,
        ])
      return try answerText(ShowSync.self, "sync.status", [:], document)
    }
    let active = try sync([:])
    #expect(active.data == "sync on · records sync with every device that has premium and sync on")
    #expect(active.notes.isEmpty)
    let off = try sync([
      "preference": false, "active": false, "reason": "sync_off", "next": "waymark sync on",
    ])
    // A person who turned it off is not asked to turn it on.
    #expect(off.data == "sync off · records stay on this device" && off.notes.isEmpty)
    let invited = try sync([
      "preference": false, "active": false, "reason": "sync_off", "next": "waymark sync on", "invited": true,
    ])
    #expect(
      invited.notes
        == "Sync was turned on for all devices. Next: waymark sync on, or waymark sync off to keep "
        + "the records on this device")
    let none: JSON = ["active": false, "source": "none", "validUntil": nil, "reason": "free_tier"]
    let free = try sync([
      "preference": false, "active": false, "reason": "free_tier", "next": "waymark help premium",
      "premium": none,
    ])
    #expect(free.data.hasPrefix("sync off · free · settings sync, records stay on this device"))
    #expect(free.notes == "Next: waymark help premium")
  }

  @Test func `a withdrawal counts what it withdrew, and says if that had been withdrawn before`() throws {
    let entitlement: JSON = [
      "id": .string(String(repeating: "1", count: 64)), "plan": "premium", "state": "withdrawn",
      "here": true, "devices": nil, "issuer": Answers.key("issuer"), "issuedAt": .string(Self.hour),
      "notBefore": .string(Self.hour), "notAfter": .string(Self.hour), "serial": "01", "source": "self",
    ]
    func answer(_ entitlements: [JSON], _ isNew: Bool) -> JSON {
      let premium: JSON = [
        "active": false, "source": "none", "validUntil": nil, "reason": "entitlement_withdrawn",
      ]
      return [
        "issuer": nil, "entitlements": .array(entitlements), "withdrawn": .bool(isNew), "premium": premium,
      ]
    }
    func removed(_ answer: JSON) throws -> String {
      let text = try answerText(RemoveEntitlement.self, "entitlement.remove", [:], answer)
      #expect(text.data.hasPrefix("premium withdrawn · settings sync"))
      return text.notes
    }
    #expect(try removed(answer([entitlement], true)) == "Withdrew 1 entitlement, on all devices.")
    #expect(
      try removed(answer([entitlement, entitlement], true)) == "Withdrew 2 entitlements, on all devices.")
    #expect(try removed(answer([entitlement], false)) == "Already removed; nothing was changed.")
    func untrusted(_ answer: JSON) throws -> String {
      try answerText(UntrustIssuer.self, "issuer.untrust", ["issuer": "11"], answer).notes
    }
    #expect(try untrusted(answer([], true)) == "Withdrew the trust in an issuer, on all devices.")
    #expect(
      try untrusted(answer([entitlement], true))
        == "Withdrew the trust in an issuer and 1 entitlement, on all devices.")
    #expect(
      try untrusted(answer([], false)) == "This issuer was already withdrawn; nothing was changed.")
  }

  // MARK: Backups and keys

  @Test func `a backup says what it holds, and what is missing from it`() throws {
    func backup(_ more: JSON) throws -> (data: String, notes: String) {
      let document = Answers.completed(
        more,
        by: [
          "file": "/b/laptop.waymark", "bytes": 5_000_000, "changeSets": 40, "files": 2, "missingFiles": 0,
          "records": 1, "created": .string(Self.hour), "damaged": 0, "text": nil, "next": nil,
        ])
      return try answerText(WriteBackup.self, "backup", [:], document)
    }
    let keys =
      "The backup contains no keys. Keep a copy of them too: waymark paths shows where they are."
    let whole = try backup([:])
    #expect(whole.data == "Wrote /b/laptop.waymark: 1 record in 40 change sets, 2 files, 5.0 MB")
    #expect(whole.notes == keys)
    #expect(try backup(["files": nil]).data.hasSuffix("40 change sets, no files, 5.0 MB"))
    #expect(
      try backup(["missingFiles": 1]).notes
        == "1 file is not in the backup, because it is not on this device or is damaged. " + keys)
    #expect(
      try backup(["missingFiles": 2]).notes
        == "2 files are not in the backup, because they are not on this device or are damaged. " + keys)
    let damaged: JSON = [
      "text": "1 change set is damaged.", "next": "waymark restore FILE --partial", "damaged": 1,
    ]
    #expect(
      try backup(damaged).notes
        == "1 change set is damaged. Next: waymark restore FILE --partial " + keys)
  }

  private func restored(_ more: JSON) throws -> (data: String, notes: String) {
    let document = Answers.completed(
      more,
      by: [
        "preview": false, "file": "/a.waymark", "created": .string(Self.twoDays), "from": "laptop",
        "circle": Answers.key("circle"), "newCircle": false, "device": Answers.key("phone"),
        "name": "laptop", "newKeys": false, "admitted": true, "changeSets": 1, "missing": 0, "files": 0,
        "missingFiles": 0, "records": 1, "erasedAgain": [], "discardedSets": nil, "keptAt": nil,
        "keptBackup": nil, "text": nil, "next": "waymark run",
      ])
    return try answerText(RestoreBackup.self, "restore", ["file": "/a.waymark"], document)
  }

  @Test func `a restore says what was restored, as which device, and what a preview would do`() throws {
    let done = try restored([:])
    #expect(
      done.data.hasPrefix("Restored 1 record from 1 change set: backup of laptop, taken 2026-11-19 11:00 "))
    #expect(!done.data.contains("(new"))
    #expect(done.notes == "Next: waymark run")
    #expect(
      try restored(["admitted": false]).notes
        == "This device is not in the circle yet: its data can be read, but not changed. Next: waymark run")
    let preview = try restored([
      "preview": true, "device": nil, "newKeys": true, "admitted": false, "records": 2, "changeSets": 4,
      "files": 3, "newCircle": true,
    ])
    #expect(preview.data.hasPrefix("Would restore 2 records from 4 change sets and 3 files: backup of"))
    #expect(preview.data.contains(" (new) device new keys"))
    #expect(
      preview.notes == "Nothing was changed. Next: stop the node if it runs, then waymark restore without "
        + "--preview")
    let fresh = try restored(["newKeys": true]).data
    #expect(fresh.hasSuffix("0 (new keys)"))
  }

  @Test func `a restore says what is missing, what is erased again, and where the previous store is`() throws
  {
    #expect(
      try restored(["missing": 1, "missingFiles": 1]).notes.hasPrefix(
        "1 change set of the backup is damaged and missing here. waymark status shows what is requested from "
          + "peers. 1 file is neither in the backup nor on this device, and will be fetched from other devices."
      ))
    #expect(
      try restored(["missing": 2, "missingFiles": 2]).notes.hasPrefix(
        "2 change sets of the backup are damaged and missing here. waymark status shows what is requested from "
          + "peers. 2 files are neither in the backup nor on this device, and"))
    let kept = "The previous store is in /h/backups/replaced."
    #expect(try restored(["keptAt": "/h/backups/replaced"]).notes == kept + " Next: waymark run")
    #expect(
      try restored(["keptAt": "/h/backups/replaced", "keptBackup": "/h/backups/replaced/a.waymark"]).notes
        == kept + " To return to it, restore the backup in that directory. Next: waymark run")
    func erased(_ count: Int) throws -> String {
      let records = (1...count).map { number -> JSON in
        [
          "kind": "trip", "id": "0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60", "name": .string("t\(number)"),
        ]
      }
      return try restored(["erasedAgain": .array(records)]).notes
    }
    #expect(
      try erased(2).contains("erased again once another device sends the erase: trip t1, trip t2. Next:"))
    #expect(try erased(20).contains("trip t20. Next:"))
    #expect(try erased(21).contains("trip t20 and 1 more record. Next:"))
  }

  @Test func `a passphrase says which keys it seals now, and which copies it does not`() throws {
    func key(_ kind: String, sealed: Bool, changed: Bool) -> JSON {
      [
        "file": .string("/h/\(kind).key"), "kind": .string(kind), "sealed": .bool(sealed),
        "changed": .bool(changed),
      ]
    }
    let keys: JSON = [
      key("device", sealed: true, changed: true), key("root", sealed: true, changed: false),
      key("issuer", sealed: false, changed: true),
    ]
    let text = try answerText(
      SetPassphrase.self, "keys.passphrase.set", [:], ["keys": keys, "unsealedCopies": ["/h/b/root.key"]])
    #expect(
      text.data == "device key sealed: /h/device.key root key sealed (unchanged): /h/root.key "
        + "issuer key without a passphrase: /h/issuer.key")
    #expect(text.notes.hasSuffix("Seal them with --key, or delete them: /h/b/root.key"))
    #expect(
      try answerText(SetPassphrase.self, "keys.passphrase.set", [:], ["keys": keys, "unsealedCopies": []])
        .notes.isEmpty)
  }
}
