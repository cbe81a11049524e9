import Platform
import Testing

@testable import Console

/// The line on a terminal that other output replaces.
@Suite(.serialized) struct TransientLineTests {
  /// Returns what the body writes to a descriptor.
  private func written(_ body: (Int32) -> Void) throws -> String {
    var ends: [Int32] = [-1, -1]
    let isOpen = pipe(&ends) == 0
    try #require(isOpen)
    body(ends[1])
    close(ends[1])
    defer { close(ends[0]) }
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = read(ends[0], &buffer, buffer.count)
    return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
  }

  private static let erased = "\r\u{1B}[K"

  @Test func `the line is removed once before anything else is written`() throws {
    let text = try written { terminal in
      TransientLine.draw("waiting", on: terminal)
      TransientLine.clear()
      TransientLine.clear()
    }
    #expect(text == Self.erased + "waiting" + Self.erased)
  }

  @Test func `no line is drawn over a question, and after the answer it comes back`() throws {
    let text = try written { terminal in
      TransientLine.draw("before", on: terminal)
      let answer = TransientLine.away {
        TransientLine.draw("during", on: terminal)
        return "yes"
      }
      TransientLine.draw("after " + answer, on: terminal)
      TransientLine.clear()
    }
    #expect(text == Self.erased + "before" + Self.erased + Self.erased + "after yes" + Self.erased)
  }
}
