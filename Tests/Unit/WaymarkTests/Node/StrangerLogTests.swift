import Testing

@testable import NodeRuntime
@testable import Waymark

@Suite struct `Refused strangers` {
  @Test func `are logged once a minute, with a count`() {
    var log = StrangerLog()
    var lines: [String?] = []
    for number in 1...300 { lines.append(log.refused("192.0.2.\(number % 4)", "not a member")) }
    #expect(lines.compactMap { $0 } == ["192.0.2.1: not a member"])
    let summary = log.minutePassed()
    #expect(
      summary == "299 more connections refused in the last minute, the last from 192.0.2.0: not a member")
    let single = [log.refused("192.0.2.9", "not a member"), log.minutePassed()]
    #expect(single == [nil, "192.0.2.9: not a member"])
    let later = [log.minutePassed(), log.refused("192.0.2.7", "not a member")]
    #expect(later == [nil, "192.0.2.7: not a member"])
  }
}
