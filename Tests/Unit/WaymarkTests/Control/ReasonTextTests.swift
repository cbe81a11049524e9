import Control
import JSONDocument
import Reasons
import Testing

/// The codes of failures, their urgency, and the texts and steps that apps translate.
struct ReasonTextTests {
  private typealias Code = WaymarkError.Code

  private static let requests: [(Code, String)] = [
    (.usage, "usage"), (.badValue, "bad_value"), (.unknownField, "unknown_field"), (.notFound, "not_found"),
    (.ambiguous, "ambiguous"), (.inUse, "in_use"), (.hidden, "hidden"), (.notDeleted, "not_deleted"),
    (.erased, "erased"), (.nothingToUndo, "nothing_to_undo"), (.needsYes, "needs_yes"),
    (.conflicts, "conflicts"), (.unsupportedProperty, "unsupported_property"), (.schema, "schema"),
    (.unknownKind, "unknown_kind"), (.tooManySettings, "too_many_settings"),
  ]

  private static let stores: [(Code, String)] = [
    (.closed, "closed"), (.suspended, "suspended"), (.cancelled, "cancelled"), (.serving, "serving"),
    (.notRunning, "not_running"), (.busy, "busy"), (.storeHeld, "store_held"), (.noStore, "no_store"),
    (.newerStore, "newer_store"), (.outdatedStore, "outdated_store"), (.storeDamaged, "store_damaged"),
    (.storeBroken, "store_broken"), (.diskFull, "disk_full"), (.inMemory, "in_memory"),
    (.keysReplaced, "keys_replaced"), (.keyNotHere, "key_not_here"),
    (.passphraseNeeded, "passphrase_needed"), (.wrongPassphrase, "wrong_passphrase"),
    (.badPassphrase, "bad_passphrase"),
  ]

  private static let premium: [(Code, String)] = [
    (.freeTier, "free_tier"), (.entitlementExpired, "entitlement_expired"),
    (.entitlementNotYetValid, "entitlement_not_yet_valid"),
    (.entitlementWithdrawn, "entitlement_withdrawn"), (.syncOff, "sync_off"),
    (.purchaseUnreadable, "purchase_unreadable"), (.purchaseNotGenuine, "purchase_not_genuine"),
    (.purchaseNotBound, "purchase_not_bound"), (.purchaseNotListed, "purchase_not_listed"),
    (.noCertificate, "no_certificate"), (.wrongCircle, "wrong_circle"), (.unknownIssuer, "unknown_issuer"),
    (.issuerWithdrawn, "issuer_withdrawn"),
  ]

  private static let devices: [(Code, String)] = [
    (.offline, "offline"), (.dialRefused, "dial_refused"), (.dialTimeout, "dial_timeout"),
    (.noRoute, "no_route"), (.peerSyncOff, "peer_sync_off"), (.peerFreeTier, "peer_free_tier"),
    (.noPeer, "no_peer"), (.unreachable, "unreachable"), (.addressInUse, "address_in_use"),
    (.addressNotHere, "address_not_here"), (.badTicket, "bad_ticket"), (.ticketSpent, "ticket_spent"),
    (.ticketExpired, "ticket_expired"), (.ticketRefused, "ticket_refused"),
    (.tooManyTickets, "too_many_tickets"), (.wrongCode, "wrong_code"), (.noOffer, "no_offer"),
    (.severalOffers, "several_offers"), (.codeRefused, "code_refused"), (.notAdmin, "not_admin"),
    (.lastAdmin, "last_admin"), (.onlyDevice, "only_device"), (.file, "file"), (.import, "import"),
    (.tooLarge, "too_large"), (.noContent, "no_content"),
  ]

  @Test func `a program finds each failure under the code of its name`() {
    for (code, text) in Self.requests + Self.stores + Self.premium + Self.devices {
      #expect(code.rawValue == text)
      #expect(Reason(rawValue: text) != nil, "\(text) is no reason")
    }
    #expect(WaymarkError.failed(.ticketSpent, "No.", next: "try again").code == .ticketSpent)
  }

  @Test func `a code of a newer version is an unexpected one, and no answer is lost because of it`() throws {
    let codes: JSON = ["in_sync", "no_such_code", "not_found"]
    let reasons = try AnswerCoding.decode([Reason].self, from: codes)
    #expect(reasons == [Reason.inSync, .unexpected, .notFound])
  }

  @Test func `what is broken is an error, and what resolves itself needs no one`() {
    let states = Array(Reason.ofStates)
    let broken: Set<Reason> = [
      .notAMember, .revoked, .clockAhead, .clockSkew, .newerProtocol, .fork, .tooManyBranches,
      .badSignature, .digestMismatch, .damagedSet, .diskFull, .storeFailed, .turnedAway, .incarnationsSpent,
    ]
    let passing: Set<Reason> = [
      .sending, .receiving, .connecting, .entitlementNotYetValid, .parked, .fork, .badSignature,
      .overrideWaiting,
    ]
    for state in states {
      #expect((state.severity == .error) == broken.contains(state), "\(state)")
      #expect((state.remedy == .time) == passing.contains(state), "\(state)")
      #expect((state.remedy == Remedy.none) == (state == .inSync), "\(state)")
    }
    #expect(Reason.conflicts.isState && Reason.purchaseRefresh.isState)
    #expect(!Reason.ok.isState && !Reason.usage.isState && !Reason.outputLost.isState)
  }

  @Test func `a reason without a name speaks of the other device, and one in a row of it`() {
    #expect(Reason.offline.sentence().description.hasPrefix("the other device can't be reached"))
    #expect(Reason.offline.next()?.description == "waymark run, on the other device")
    #expect(Reason.paused.next()?.description == "waymark peers resume PEER")
    #expect(Reason.dialRefused.sentence(peer: "nas") == "no node is listening at the address of nas")
    #expect(Reason.dialRefused.sentence(inRowOf: "nas") == "no node is listening at its address")
    #expect(
      Reason.peerSyncOff.sentence(inRowOf: "nas")
        == "sync of records is off there, so only settings sync with it")
    #expect(
      Reason.peerSyncOff.sentence(peer: "nas")
        == "sync of records is off on nas, so only settings sync with it")
    #expect(Reason.offline.next(peer: "nas")?.text(home: nil, inRowOf: "nas") == "waymark run, there")
  }

  // MARK: Texts

  @Test func `texts that are put together are still translated part by part`() {
    func german(_ pattern: String) -> String? {
      ["one": "eins", "two": "zwei", "There is no %@.": "Es gibt kein %@."][pattern]
    }
    let list: [LocalizableText] = ["one", "two", "Rome"]
    let joined = list.joined(separator: ", ")
    #expect(joined.description == "one, two, Rome")
    #expect(joined.text(translatedBy: german) == "eins, zwei, Rome")
    let none: [LocalizableText] = []
    #expect(none.joined(separator: ", ").description == "")
    let sum: LocalizableText = "Sum: " + joined
    #expect(sum.description == "Sum: one, two, Rome")
    #expect(sum == LocalizableText(verbatim: "Sum: one, two, Rome"), "equal in English")

    let word: LocalizableText = "two"
    let failure: any Error = WaymarkError.usage("There is no \(word).")
    let message: LocalizableText = "\(failure)"
    #expect(message.description == "There is no two.")
    #expect(message.text(translatedBy: german) == "Es gibt kein zwei.")
  }

  @Test func `a text survives its document, whatever is in it`() throws {
    let texts: [LocalizableText] = ["100 % of \("5 %@")", "", "%1$@ “Rome”"]
    let document = try AnswerCoding.encode(texts)
    #expect(document == ["100 % of 5 %@", "", "%1$@ “Rome”"])
    #expect(try AnswerCoding.decode([LocalizableText].self, from: document) == texts)
  }

  // MARK: Steps

  @Test func `an app shows a step only if nothing in it is a command`() {
    let name: LocalizableText = "the disk"
    let plain: Step = "free some space on \(name), 5 % or \(10) MB"
    #expect(plain.plainText?.description == "free some space on the disk, 5 % or 10 MB")
    #expect((plain + ", then try again").plainText?.description.hasSuffix("MB, then try again") == true)
    let last: Step = "free some space, then \(waymark: "run")"
    let first: Step = "\(waymark: "run", on: "nas"), then wait"
    #expect(last.plainText == nil && first.plainText == nil && Step.waymark("run").plainText == nil)
    #expect((plain + last).plainText == nil)
  }

  @Test func `a step that is put together or changed keeps its commands, and where to type them`() {
    let inner: Step = "\(waymark: "sync on", on: "nas") or \(waymark: "sync off")"
    let whole: Step = "first \(inner); then wait"
    #expect(whole.description == "first waymark sync on, on nas or waymark sync off; then wait")
    #expect(
      whole.text(home: "/h", inRowOf: "nas")
        == "first waymark sync on, there or waymark --home /h sync off; then wait")
    let changed = whole.mapText { $0.replacing("sync", with: "files") }
    #expect(
      changed.text(home: "/h", inRowOf: "nas")
        == "first waymark files on, there or waymark --home /h files off; then wait")
    for words in ["help keys", "version", "--home DIR status"] {
      #expect(Step.waymark(words).text(home: "/h") == "waymark \(words)")
    }
    #expect(Step.waymark("helpers").text(home: "/h") == "waymark --home /h helpers")
  }
}
