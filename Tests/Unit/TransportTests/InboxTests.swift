import Testing

@testable import Transport

/// What a link keeps of received messages until its owner takes them.
struct InboxTests {
  /// An inbox whose calls may stand in an expectation.
  private final class Box {
    private var inbox: Inbox<Int>

    init(bytesMax: Int) {
      var limits = LinkLimits()
      limits.receiveBufferBytesMax = bytesMax
      inbox = Inbox(limits)
    }

    var isFull: Bool { inbox.isFull }
    var bytes: Int { inbox.bytes }

    func add(_ items: Inbox<Int>.Item...) -> Bool { inbox.add(items) }
    func take(_ bytes: Int) -> (messages: [Int], isMore: Bool, hasRoomAgain: Bool) {
      inbox.take(atMost: bytes)
    }
  }

  @Test func `the owner is told of the first messages, and takes them in order, at least one at a time`() {
    let box = Box(bytesMax: 1_000)
    #expect(box.add((1, 100), (2, 100)))
    #expect(!box.add((3, 50)), "the owner has been told and has not taken anything")
    #expect(box.bytes == 250)
    #expect(box.take(1) == ([1], true, false))
    #expect(box.take(101) == ([2, 3], false, false))
    #expect(box.bytes == 0)
    #expect(box.add((4, 10)), "it was empty again")
    #expect(box.take(.max) == ([4], false, false))
    #expect(box.take(.max) == ([], false, false))
  }

  @Test func `an inbox is full beyond its limit, and has room again at the limit`() {
    let box = Box(bytesMax: 100)
    _ = box.add((1, 60), (2, 40))
    #expect(!box.isFull)
    _ = box.add((3, 1), (4, 60))
    #expect(box.isFull)
    // 101 bytes are left, then 61: only the second of these takes brings room.
    #expect(box.take(60) == ([1], true, false))
    #expect(box.take(1) == ([2], true, true))
    #expect(box.take(1) == ([3], true, false), "it was not full any more")
  }
}
