import Console
import Testing

/// Numbers in sentences, and the words that are suggested for mistyped ones.
struct NumberTextTests {
  @Test(
    arguments: [
      (0, "0"), (999, "999"), (1_000, "1,000"), (12_345, "12,345"), (1_234_567, "1,234,567"), (-999, "-999"),
      (-1_000, "-1,000"), (.min, "-9,223,372,036,854,775,808"),
    ] as [(Int64, String)])
  func `digits are in groups of three`(number: Int64, text: String) {
    #expect(grouped(number) == text)
  }

  @Test func `one is singular, and no other count is`() {
    #expect(counted(1, "trip") == "1 trip" && counted(0, "trip") == "0 trips")
    #expect(counted(2, "category", "categories") == "2 categories")
    #expect(counted(1, "category", "categories") == "1 category")
    #expect(counted(1_001, "trip") == "1,001 trips")
  }

  @Test(
    arguments: [
      (0, "0 bytes"), (999, "999 bytes"), (1_000, "1.0 kB"), (1_449, "1.4 kB"), (999_949, "999.9 kB"),
      (999_950, "1.0 MB"), (1_000_000, "1.0 MB"), (12_340_000, "12.3 MB"), (5_000_000_000, "5.0 GB"),
      (7_000_000_000_000, "7.0 TB"),
      (1_234_000_000_000_000, "1,234.0 TB"),
    ] as [(Int64, String)])
  func `a size for people has one digit after the point, and no unit beyond terabytes`(
    bytes: Int64, text: String
  ) {
    #expect(byteText(bytes) == text)
  }

  @Test(
    arguments: [
      ("lst", ["list", "show"], "list"), ("sta", ["status", "sync"], "status"),
      ("s", ["status", "sync"], nil),
      ("", ["go"], nil), ("shwo", ["show"], "show"), ("STATUS", ["status"], "status"),
      // Four letters tolerate one mistake, five letters two.
      ("abcd", ["abxy"], nil), ("abcde", ["abcxy"], "abcxy"), ("abcde", ["abxyz"], nil),
      // The nearest word wins, then the first in the alphabet.
      ("cat", ["car", "bat"], "bat"), ("staus", ["stays12", "status"], "status"), ("trip", [], nil),
    ] as [(String, [String], String?)])
  func `a mistyped word is near to at most one known word`(typed: String, known: [String], meant: String?) {
    #expect(Suggestion.nearest(to: typed, among: known) == meant)
  }

  @Test(arguments: [
    ("", "abc", 3), ("abc", "", 3), ("same", "same", 0), ("ab", "ba", 1), ("kitten", "sitting", 3),
    ("list", "lsit", 1), ("a", "b", 1),
  ])
  func `the distance of two words counts their differences`(left: String, right: String, distance: Int) {
    #expect(Suggestion.distance(left, right) == distance)
  }
}
