import Testing

@testable import Control

/// How much room there is for the events of a command that its client has not read yet.
struct EventRoomTests {
  @Test func `events that a client has received make room for further ones, also if one always waits`() {
    for waiting in 0...1 {
      let outbox = Outbox(bytesMax: 16)
      let lines = (10..<40).map { Array("event \($0)".utf8) }
      for line in lines.prefix(waiting) { outbox.put(line) }
      for (number, line) in lines.dropFirst(waiting).enumerated() {
        outbox.put(line)
        #expect(outbox.next(within: 0) == .line(lines[number]))
      }
      outbox.finish(Array("answer".utf8))
      for line in lines.suffix(waiting) { #expect(outbox.next(within: 0) == .line(line)) }
      #expect(outbox.next(within: 0) == .line(Array("answer".utf8)))
      #expect(outbox.next(within: 0) == .end)
      #expect(!outbox.hasOverflowed, "\(waiting) waiting")
    }
  }
}
