import Testing

@testable import Platform

/// Texts without the white space around them, and calls that a signal interrupts.
struct TextTests {
  @Test(
    arguments: [
      ("", ""), (" ", ""), (" \t\r\n ", ""), ("a", "a"), (" a", "a"), ("a ", "a"), ("\r\na b\t", "a b"),
      ("\u{a0}a\u{2003}", "a"), (" \u{200b} ", "\u{200b}"),
    ])
  func `a text is trimmed at both ends only`(text: String, trimmed: String) {
    #expect(text.trimmed == trimmed)
    #expect("x\(text)y".dropFirst().dropLast().trimmed == trimmed)
  }

  @Test func `a call is repeated while a signal interrupts it, and its other results are returned at once`() {
    var errors: [Int32] = [EINTR, EINTR]
    var calls = 0
    let done = uninterrupted { () -> Int in
      calls += 1
      guard !errors.isEmpty else { return 7 }
      errno = errors.removeFirst()
      return -1
    }
    #expect(done == 7 && calls == 3)
    (errors, calls) = ([EAGAIN], 0)
    let failed = uninterrupted { () -> Int in
      calls += 1
      guard !errors.isEmpty else { return 7 }
      errno = errors.removeFirst()
      return -1
    }
    #expect(failed == -1 && calls == 1)
  }
}
