import Console
import Testing

/// The keys with which a person types a passphrase that is not shown.
struct TypedLineTests {
  /// What is typed after these keys, and what follows from the last one.
  private func typed(_ keys: [UInt8]) -> (text: String, progress: TypedLine.Progress?) {
    var line = TypedLine()
    var progress: TypedLine.Progress?
    for key in keys { progress = line.take(key) }
    return (String(decoding: line.bytes, as: UTF8.self), progress)
  }

  private func typed(_ text: String, _ keys: UInt8...) -> (text: String, progress: TypedLine.Progress?) {
    typed(Array(text.utf8) + keys)
  }

  @Test(arguments: [UInt8(0x08), 0x7f])
  func `a backspace removes one character, however many bytes it has`(key: UInt8) {
    #expect(typed("abc", key).text == "ab")
    for letter in ["é", "東", "🐌"] {
      #expect(typed("a" + letter, key).text == "a", "\(letter)")
      #expect(typed("a" + letter, key, key).text == "", "\(letter)")
    }
    #expect(typed("a", key, key, UInt8(ascii: "b")).text == "b", "with nothing left, it does nothing")
    #expect(typed("abc", key).progress == .more)
  }

  @Test func `Ctrl-U removes everything, and typing goes on`() {
    #expect(typed("wrong words", 0x15).text == "")
    #expect(typed("wrong words", 0x15).progress == .more)
    #expect(typed("wrong", 0x15, UInt8(ascii: "r"), UInt8(ascii: "i")).text == "ri")
  }

  @Test func `Enter ends the line, and Ctrl-D does if there is one`() {
    for key: UInt8 in [0x0a, 0x0d, 0x04] {
      let (text, progress) = typed("four words", key)
      #expect(text == "four words" && progress == .done, "\(key): the key is no part of the line")
    }
    #expect(typed("", 0x0a).progress == .done)
    #expect(typed("", 0x04).progress == .givenUp)
    #expect(typed("a", 0x7f, 0x04).progress == .givenUp)
  }

  @Test(arguments: [UInt8(0x03), 0x1c])
  func `Ctrl-C and Ctrl-backslash give up, also in the middle of a line`(key: UInt8) {
    #expect(typed("", key).progress == .givenUp)
    #expect(typed("four words", key).progress == .givenUp)
  }

  @Test func `a line that is too long takes no more bytes, and can still be corrected and ended`() {
    var line = TypedLine()
    for _ in 0...TypedLine.bytesMax { _ = line.take(UInt8(ascii: "x")) }
    #expect(line.bytes.count == TypedLine.bytesMax)
    _ = line.take(0x7f)
    #expect(line.bytes.count == TypedLine.bytesMax - 1)
    _ = line.take(UInt8(ascii: "y"))
    #expect(line.bytes.last == UInt8(ascii: "y"))
    let progress = line.take(0x0a)
    #expect(progress == .done && line.bytes.count == TypedLine.bytesMax)
    line.clear()
    #expect(line.bytes.isEmpty)
  }
}
