import PageServer
import Testing
import Wire

struct PageActionTests {
  @Test(
    arguments: [
      (
        "{\"action\":\"resolveConflict\",\"conflict\":\"3f\",\"take\":\"winner\"}",
        .resolveConflict(conflict: "3f", take: "winner")
      ),
      ("{\"action\":\"undo\",\"operation\":\"3f\"}", .undo(operation: "3f")),
      ("{\"action\":\"tickHabit\",\"habit\":\"3f\"}", .tickHabit(habit: "3f", date: nil)),
      (
        "{\"date\":\"2026-05-03\",\"action\":\"tickHabit\",\"habit\":\"3f\"}",
        .tickHabit(habit: "3f", date: "2026-05-03")
      ),
      ("{\"action\":\"pausePeer\",\"peer\":\"bob\"}", .pausePeer(peer: "bob")),
      ("{\"action\":\"resumePeer\",\"peer\":\"bob\"}", .resumePeer(peer: "bob")),
      ("{\"action\":\"syncOn\"}", .syncOn), ("{\"action\":\"syncOff\"}", .syncOff),
      ("{\"action\":\"invite\"}", .invite),
    ] as [(String, PageAction)])
  func `each action is read`(body: String, action: PageAction) throws {
    let read = try PageAction.read(Array(body.utf8))
    #expect(read.action == action)
    #expect(read.confirmation == nil)
  }

  @Test(arguments: [
    "", "{}", "[]", "\"syncOn\"", "{\"action\":\"erase\"}", "{\"action\":\"SyncOn\"}", "{\"action\":1}",
    "{\"action\":\"syncOn\",\"everywhere\":\"true\"}", "{\"action\":\"syncOn\",\"yes\":\"true\"}",
    "{\"action\":\"syncOn\",\"action\":\"syncOff\"}", "{\"action\":\"undo\"}",
    "{\"action\":\"undo\",\"operation\":null}", "{\"action\":\"undo\",\"operation\":\"\"}",
    "{\"action\":\"undo\",\"operation\":[\"3f\"]}", "{\"action\":\"invite\",\"role\":\"admin\"}",
    "{\"action\":\"syncOn\"} {}", "{\"action\":\"syncOn\",\"confirmation\":true}",
  ])
  func `nothing else is an action`(body: String) {
    #expect(throws: PageActionError.self) { try PageAction.read(Array(body.utf8)) }
  }

  @Test func `a confirmation is for one action, once, and for some minutes`() {
    var pending = PendingConfirmations()
    func random(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 16) }
    func confirms(_ value: String, _ action: PageAction = .syncOn, at now: Int64 = 0) -> Bool {
      pending.confirm(value, action, now: now)
    }
    let value = pending.ask(about: .syncOn, random: random(1), now: 0)
    #expect(!confirms(value, .undo(operation: "3f")))
    #expect(!confirms(""))
    #expect(confirms(value, at: Limits.pageConfirmationMilliseconds - 1))
    #expect(!confirms(value))
    let late = pending.ask(about: .syncOn, random: random(2), now: 0)
    #expect(!confirms(late, at: Limits.pageConfirmationMilliseconds))
    let first = pending.ask(about: .syncOn, random: random(3), now: 0)
    for number in 0..<UInt8(Limits.pageConfirmationsMax) {
      _ = pending.ask(about: .syncOn, random: random(4 + number), now: 0)
    }
    #expect(!confirms(first), "the oldest ends when there are too many")
  }
}
