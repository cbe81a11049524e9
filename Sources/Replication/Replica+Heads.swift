// Protocol/session.md, "Heads and needs"

import Wire

extension Replica {
  /// Sends all heads of a lane. If there are too many, sends a part that begins at a random head, so that each call
  /// sends a different part. A long list is not repeated before the peer has had time to read it.
  mutating func tellAllHeads(_ link: LinkID, _ lane: Lane, _ now: Now, _ effects: inout [Effect]) {
    let all = shownHeads(lane).sorted
    if let last = sessions[link]?[lane].open?.toldAllAt, now.steady < last + Moment(all.count / 2) {
      return
    }
    sessions[link]?[lane].open?.toldAllAt = now.steady
    tell(stretch(of: all), link, lane, isComplete: true, &effects)
  }

  /// Sends heads in as many messages as needed. Only the first is marked as the start of a complete list.
  mutating func tell(
    _ heads: [LogHead], _ link: LinkID, _ lane: Lane, isComplete: Bool, _ effects: inout [Effect]
  ) {
    var isFirst = true
    var rest = heads[...]
    repeat {
      let message = nextMessage(&rest)
      effects.append(.send(link, .heads(lane, message, complete: isComplete && isFirst)))
      isFirst = false
    } while !rest.isEmpty
  }

  /// Takes as many heads as fit into one message. The tips of a log are kept together where they fit, because a single
  /// tip would hide that the log has forked.
  private func nextMessage(_ rest: inout ArraySlice<LogHead>) -> [LogHead] {
    var message = rest.prefix(Limits.headsPerMessageMax)
    if message.endIndex < rest.endIndex, message.first?.log != rest[message.endIndex].log {
      let last = rest[message.endIndex].log
      message = message.prefix { $0.log != last }
    }
    rest = rest.dropFirst(message.count)
    return Array(message)
  }

  private mutating func stretch(of heads: [LogHead]) -> [LogHead] {
    guard heads.count > Limits.headsMax else { return heads }
    let start = Int(random.below(UInt64(heads.count)))
    return Array((heads[start...] + heads[..<start]).prefix(Limits.headsMax))
  }
}
