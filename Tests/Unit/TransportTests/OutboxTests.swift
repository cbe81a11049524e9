import Testing
import Wire

@testable import Transport

/// Each message consists of equal bytes, so that its first byte names it.
private func message(_ name: UInt8, bytes: Int = 10) -> [UInt8] { [UInt8](repeating: name, count: bytes) }

/// An outbox whose calls may stand in an expectation.
private final class Queue {
  private var outbox = Outbox()

  var bytes: Int { outbox.bytes }
  var isEmpty: Bool { outbox.isEmpty }

  func append(_ message: [UInt8], as sendClass: SendClass) { outbox.append(message, as: sendClass) }
  func take(unwritten: Int, bytesMax: Int = 1 << 20) -> [[UInt8]] {
    outbox.take(unwritten: unwritten, bytesMax: bytesMax)
  }
  func keepNewest() { outbox.keepNewest() }
  func isCongested(_ sendClass: SendClass, unwritten: Int, lowWater: Int) -> Bool {
    outbox.isCongested(sendClass, unwritten: unwritten, lowWater: lowWater)
  }
  func drained(unwritten: Int, lowWater: Int) -> Bool {
    outbox.drained(unwritten: unwritten, lowWater: lowWater)
  }
}

@Suite struct `Messages that wait on a link` {
  private func leaves(_ names: ClosedRange<UInt8>) -> [[UInt8]] {
    names.map { message($0, bytes: Limits.leafBytes) }
  }

  @Test func `are sent in the order in which they were queued, except that files come last`() {
    let outbox = Queue()
    for (name, sendClass) in [(1, SendClass.file), (2, .ordinary), (3, .file), (4, .ordinary)] {
      outbox.append(message(UInt8(name)), as: sendClass)
    }
    #expect(outbox.bytes == 40)
    #expect(outbox.take(unwritten: 0).map(\.first) == [2, 4, 1, 3])
    #expect(outbox.isEmpty && outbox.bytes == 0)
  }

  @Test func `that are parts of files are taken only a few ahead`() {
    let outbox = Queue()
    for leaf in leaves(1...4) { outbox.append(leaf, as: .file) }
    #expect(outbox.take(unwritten: 0).map(\.first) == [1, 2])
    #expect(outbox.take(unwritten: 2 * Limits.leafBytes).isEmpty)
    outbox.append(message(9), as: .ordinary)
    #expect(outbox.take(unwritten: 2 * Limits.leafBytes) == [message(9)])
    #expect(outbox.take(unwritten: Limits.leafBytes).map(\.first) == [3])
  }

  @Test func `that are parts of files wait until no ordinary message waits`() {
    let outbox = Queue()
    outbox.append(message(1), as: .file)
    for name in 2...4 { outbox.append(message(UInt8(name), bytes: 100), as: .ordinary) }
    #expect(outbox.take(unwritten: 0, bytesMax: 150).map(\.first) == [2, 3])
    #expect(outbox.take(unwritten: 0, bytesMax: 150).map(\.first) == [4, 1])
  }

  @Test func `congest only the classes that have to wait for them`() {
    let outbox = Queue()
    for leaf in leaves(1...4) { outbox.append(leaf, as: .file) }
    let lowWater = 2 * Limits.leafBytes
    #expect(outbox.isCongested(.file, unwritten: 0, lowWater: lowWater))
    #expect(!outbox.isCongested(.ordinary, unwritten: 0, lowWater: lowWater))
    #expect(outbox.isCongested(.ordinary, unwritten: lowWater + 1, lowWater: lowWater))
    for name in 5...8 { outbox.append(message(UInt8(name), bytes: Limits.leafBytes), as: .ordinary) }
    #expect(outbox.isCongested(.ordinary, unwritten: 0, lowWater: lowWater))
  }

  @Test func `report once that there is room again, to those who were told that there is none`() {
    let outbox = Queue()
    let lowWater = Limits.leafBytes
    for leaf in leaves(1...2) { outbox.append(leaf, as: .file) }
    #expect(!outbox.drained(unwritten: 0, lowWater: lowWater))
    #expect(outbox.isCongested(.file, unwritten: 0, lowWater: lowWater))
    #expect(!outbox.drained(unwritten: 0, lowWater: lowWater))
    _ = outbox.take(unwritten: 0)
    #expect(!outbox.drained(unwritten: 2 * Limits.leafBytes, lowWater: lowWater))
    #expect(outbox.drained(unwritten: 0, lowWater: lowWater))
    #expect(!outbox.drained(unwritten: 0, lowWater: lowWater))
  }

  @Test func `are dropped except for the newest ordinary one when the link closes at once`() {
    let outbox = Queue()
    outbox.append(message(1), as: .ordinary)
    outbox.append(message(2), as: .ordinary)
    outbox.append(message(3), as: .file)
    outbox.keepNewest()
    #expect(outbox.bytes == 10)
    #expect(outbox.take(unwritten: 0) == [message(2)])
  }
}
