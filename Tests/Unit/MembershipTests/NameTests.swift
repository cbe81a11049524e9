import Membership
import Testing
import Wire

@Suite struct `Names` {
  @Test(arguments: [
    "phone", "Anna's phone", "ä", "电话", "📱", "❤\u{FE0F}", "a\u{A0}b", "Ж", String(repeating: "a", count: 64),
  ])
  func `may have any letters that can be seen`(name: String) { #expect(isName(name)) }

  @Test(arguments: [
    "", "\n", "a\u{7F}", "a\u{9B}31m", "a\u{AD}b", "a\u{61C}b", "a\u{200B}b", "a\u{200C}b", "a\u{200D}b",
    "a\u{200E}b",
    "a\u{200F}b", "a\u{2028}b", "a\u{202E}b", "a\u{2060}b", "a\u{2064}b", "a\u{2066}b", "a\u{FEFF}b",
    "a\u{E0001}b",
    "a\u{E0041}b", "a\u{E007F}b", "a\u{3164}b", "a\u{115F}b", "a\u{2800}b", String(repeating: "a", count: 65),
  ]) func `may not have characters that can't be seen or that control a terminal`(name: String) {
    #expect(!isName(name))
  }

  @Test(arguments: [
    ("phone", "Phone"), ("phone", "phоne"), ("phone", "рhоnе"), ("phone", "ｐｈｏｎｅ"), ("phone", " phone  "),
    ("my phone", "my\u{A0}phone"), ("my phone", "my\u{2003} phone"), ("ipad", "lpad"), ("iPad", "1pad"),
    ("nas 0", "NAS O"), ("modem", "modern"), ("é", "e\u{301}"), ("Anna's", "Anna’s"), ("a-b", "a–b"),
    ("heart ❤", "heart ❤\u{FE0F}"), ("ωww", "wvvw"),
  ]) func `look alike`(one: String, other: String) {
    #expect(lookAlike(one, other) && lookAlike(other, one) && lookAlike(one, one))
  }

  @Test(arguments: [
    ("phone", "phone 2"), ("phone 2", "phone 3"), ("phone", "phones"), ("laptop", "desktop"),
    ("anna", "hanna"),
    ("é", "e"), ("nas 1", "nas 2"), ("ab", "a b"),
  ]) func `do not look alike`(one: String, other: String) { #expect(!lookAlike(one, other)) }

  @Test func `the form for comparison does not change again`() {
    for name in ["Phоne 1", "vvrnrn", " a  b ", "ＲＮ", "İ"] {
      #expect(skeleton(skeleton(name)) == skeleton(name))
    }
  }
}
