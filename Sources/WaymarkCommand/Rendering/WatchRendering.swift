import JSONDocument
import Waymark

/// `status --watch`: the status, how far everyone has caught up, and what was done last.
extension Rendering {
  ///
  /// - Parameter isShort: for a small window: what waits for somebody comes right after the head, and nothing else.
  mutating func watch(_ watched: Watched, isShort: Bool = false, at now: ContinuousClock.Instant = .now) {
    guard !isShort else { return glance(watched.status) }
    status(watched.status)
    bars(watched, now)
    lastOperations(watched.operations)
  }

  private mutating func bars(_ watched: Watched, _ now: ContinuousClock.Instant) {
    let directions = [("behind", "from"), ("ahead", "to")]
    for peer in watched.status["peers"]?.array ?? [] {
      for (direction, word) in directions {
        guard let (done, total, seconds) = watched.catchUp(peer, direction, at: now) else { continue }
        let name = "\(word) \(printable(peer["name"]?.string ?? ""))"
        data.gap()
        data.line(
          ProgressLine.text(name.cut(to: 30), done: done, total: total, seconds: seconds, width: data.width))
      }
    }
  }

  private mutating func lastOperations(_ operations: [History.Operation]) {
    guard !operations.isEmpty else { return }
    var table = TextTable([.init(""), .init("", widthMin: 8), .init("", widthMin: 24)])
    table.hasHead = false
    for operation in operations {
      table.rows.append([
        .init(time.short(operation.time), .faint), .init(operation.deviceName),
        .init(what(operation)),
      ])
    }
    data.gap()
    data.line("Done last", .faint)
    data.table(table)
  }
}
