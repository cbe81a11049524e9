import Reasons
import Testing

/// The parts of messages, and the exit codes that belong to them.
struct SentenceTests {
  @Test(arguments: [
    ("Rome", "Rome"), ("a-b_c./:@+,9Z", "a-b_c./:@+,9Z"), ("", "''"), ("a b", "'a b'"),
    ("it's", #"'it'\''s'"#),
    ("'", #"''\'''"#), ("Zoë", "'Zoë'"), ("$HOME", "'$HOME'"), ("a;b", "'a;b'"), ("~", "'~'"), ("*", "'*'"),
    ("a\"b", "'a\"b'"), ("a\\b", #"'a\b'"#), ("a\nb", "'a\nb'"), ("a=b", "'a=b'"),
  ])
  func `a word that a shell would change is quoted`(word: String, quoted: String) {
    #expect(shellWord(word) == quoted)
  }

  @Test func `a value in a message is one line of at most sixty characters`() {
    let whole = String(repeating: "é", count: 60)
    #expect(shortened(whole) == whole)
    #expect(shortened(whole + "x") == String(whole.dropLast()) + "…")
    #expect(shortened("a\n\nb\r\nc\n") == "a b c")
    #expect(shortened("") == "")
  }

  @Test func `a message ends with one mark`() {
    func message(_ allowed: LocalizableText) -> String {
      WaymarkError.badValue("kind", "x", allowed: allowed).message.description
    }
    #expect(message("expected binary or numeric") == "kind can't be “x”: expected binary or numeric.")
    #expect(message("did you mean binary?") == "kind can't be “x”: did you mean binary?")
    let one: String = plural(1, "entry", "entries")
    let none: String = plural(0, "entry", "entries")
    let many: String = plural(2, "trip")
    #expect([one, none, many] == ["1 entry", "0 entries", "2 trips"])
  }

  @Test func `each kind of failure has an exit code of its own`() {
    func home(_ code: Reason) -> Int32 { WaymarkError.home(code, "It failed.", next: "try again").exitCode }
    for code in [
      Reason.keyMissing, .keyNotHere, .keyStoreFailed, .keyDamaged, .keyExposed, .passphraseNeeded,
      .wrongPassphrase, .badPassphrase,
    ] {
      #expect(home(code) == 12, "\(code)")
    }
    #expect(home(.unwritable) == 1)
    #expect(WaymarkError.usage("It failed.").exitCode == 2)
    #expect(WaymarkError.badValue("a", "b", allowed: "c").exitCode == 2)
    #expect(WaymarkError.ambiguous("trip", "Rome", ["a", "b"]).exitCode == 2)
    #expect(WaymarkError.needsYes("It asks.", next: "agree").exitCode == 7)
    let missing = WaymarkError.notFound("trip", "Rome")
    #expect(
      missing.exitCode == 8 && missing.message == "There is no trip “Rome”." && missing.candidates == [])
  }
}
