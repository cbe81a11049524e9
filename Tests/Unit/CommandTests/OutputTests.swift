import Console
import Foundation
import Testing
import Waymark

@testable import WaymarkCommand

struct OutputTests {
  @Test(arguments: [
    ("Rome", 4), ("東京", 4), ("Zürich", 6), ("e\u{301}", 1), ("🏃", 2), ("👨‍👩‍👧", 2), ("🇮🇹", 2), ("❤️", 2), ("한국", 4),
    ("", 0),
  ])
  func `text takes as many columns as on a terminal`(text: String, columns: Int) {
    #expect(text.displayWidth == columns)
  }

  @Test func `text is cut between characters, never inside one`() {
    #expect("東京タワー".cut(to: 6) == "東京…")
    #expect("Rome".cut(to: 4) == "Rome")
    #expect("Rome".cut(to: 0) == "")
  }

  @Test func `control sequences are removed from names`() {
    #expect(printable("a\u{1B}[2Jb\nc") == "a\u{FFFD}[2Jb c")
    #expect(printable("Zoë 🏃") == "Zoë 🏃")
    for hidden in [
      "\u{9B}", "\u{202E}", "\u{2067}", "\u{200E}", "\u{200F}", "\u{061C}", "\u{FEFF}", "\u{2028}",
    ] {
      #expect(printable("a\(hidden)b") == "a\u{FFFD}b")
    }
  }

  @Test func `a table shrinks its widest column until it fits`() {
    var table = TextTable([.init("ID"), .init("NAME", widthMin: 8), .init("COST", isRight: true)])
    table.rows = [["1", "A very long name that has to give way", "9.50"], ["2", "東京", "120"]]
    let lines = table.lines(in: Page(width: 24, hasColor: false))
    #expect(lines == ["ID  NAME            COST", "1   A very long n…  9.50", "2   東京             120"])
  }

  @Test func `a table whose last column may wrap continues it on the next line`() {
    var table = TextTable([.init("PEER"), .init("WHY", widthMin: 8)])
    table.wrapsLast = true
    table.rows = [["nas", "nobody listens there"], ["phone", ""]]
    let lines = table.lines(in: Page(width: 20, hasColor: false))
    #expect(lines == ["PEER   WHY", "nas    nobody", "       listens there", "phone"])
  }

  @Test func `colour only accompanies words, and only where the output supports it`() {
    #expect(Page(width: 80, hasColor: false).paint("in sync", .good) == "in sync")
    #expect(Page(width: 80, hasColor: true).paint("in sync", .good) == "\u{1B}[32min sync\u{1B}[0m")
  }

  @Test func `long text is broken between words and keeps its indentation`() {
    #expect(wrapped("  one two three", width: 9, indent: 2) == ["  one two", "    three"])
  }

  @Test(arguments: [
    ("2026-05-03T15:00:00Z", 1_777_820_400_000), ("2026-05-03T17:00:00+02:00", 1_777_820_400_000),
    ("1970-01-01T00:00:00.250Z", 250), ("0001-01-01T00:00:00Z", -62_135_596_800_000),
  ])
  func `times are shown with their offset`(text: String, moment: Int64) {
    #expect(TimeText.moment(text) == moment)
  }

  @Test func `durations are shown in their two largest units`() {
    #expect(TimeText.span(4_000) == "4 s")
    #expect(TimeText.span(273_600_000) == "3 d 4 h")
    #expect(TimeText.span(5_400_000) == "1 h 30 min")
  }

  @Test func `progress shows how much is done, how fast, and the time left`() {
    #expect(
      ProgressLine.text("logs", done: 5_000, total: 20_000, seconds: 2, width: 60)
        == "logs  ████░░░░░░░░░░░░░  5,000 of 20,000  2,500/s  6 s left")
  }

  @Test func `a wait without a known end shows how long it has lasted`() {
    #expect(ProgressLine.text(waitingFor: "Exporting", seconds: 75.9, width: 60) == "Exporting  1 min")
    #expect(ProgressLine.text(waitingFor: "Importing a file", seconds: 3, width: 12).count < 12)
  }

  @Test func `ids are shortened to as many digits as tell them apart`() {
    let prefixes = distinctPrefixes(["0196F0A2-7C31-7B4C", "0196F0A2-7C31-8000", "AAAA0000-1111-2222"])
    #expect(prefixes["0196F0A2-7C31-7B4C"] == "0196F0A2-7C31-7")
    #expect(prefixes["AAAA0000-1111-2222"] == "AAAA0000")
  }
}
