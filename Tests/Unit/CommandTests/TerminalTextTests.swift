import Console
import Testing

/// Text as a terminal shows it: its width, and the times in it.
struct TerminalTextTests {
  @Test(arguments: ["⌚", "⏰", "⚽", "✅", "🚀", "🟢", "🥐"])
  func `an emoji that a terminal draws wide takes two columns`(emoji: String) {
    #expect(emoji.displayWidth == 2)
  }

  @Test(arguments: [
    "2026-05x03T15:00:00Z", "2026x05-03T15:00:00Z", "2026-05-03x15:00:00Z", "2026-05-03T15x00:00Z",
    "2026-05-03T15:00x00Z", "2026-05-03T15:00:00+02x00", "2026-05-03T15:00:00x", "2026-05-03T15:00:00.Z",
  ])
  func `a text that only looks like a time is none`(text: String) {
    #expect(TimeText.moment(text) == nil)
  }
}
