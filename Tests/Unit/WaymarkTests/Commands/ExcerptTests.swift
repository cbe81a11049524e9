import Testing

@testable import Model

/// The part of a text that a search shows.
struct ExcerptTests {
  private static func times(_ count: Int, _ text: String) -> String { String(repeating: text, count: count) }

  @Test(
    arguments: [
      ("Rome", "rome", "Rome"), ("Straße", "strasse", "Straße"), ("Rome", "oslo", "Rome"), ("", "a", ""),
      ("a\r\nb\tc\nd", "c", "a b c d"),
    ])
  func `a short text is shown as it is, on one line`(text: String, part: String, excerpt: String) {
    #expect(Excerpt(of: text, around: part).text == excerpt)
  }

  @Test func `sixty characters are shown whole, and of more the end is cut`() {
    let whole = Self.times(60, "a")
    #expect(Excerpt(of: whole, around: "a").text == whole)
    #expect(Excerpt(of: whole + "a", around: "a").text == whole + "…")
  }

  @Test func `an excerpt begins with a whole word before the place, and says where it was cut`() {
    let words = Self.times(20, "word ")
    // At most twenty characters before the place are shown.
    let middle = Excerpt(of: words + "target" + Self.times(20, " tail"), around: "target").text
    let tail = Self.times(7, " tail")
    #expect(middle == "…word word word target" + tail + " tai…")
    // At the end of a text, more of what comes before fits.
    let last = Excerpt(of: words + "target", around: "TARGET").text
    #expect(last == "…" + Self.times(10, "word ") + "target")
    // A word that is longer than that is cut.
    let long = Excerpt(of: Self.times(100, "x") + "target", around: "target").text
    #expect(long == "…" + Self.times(54, "x") + "target")
  }
}
