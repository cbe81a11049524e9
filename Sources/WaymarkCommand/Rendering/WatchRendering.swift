import JSONDocument
import Waymark

/// `status --watch`: the status, how far everyone has caught up, and what was done last.
extension Rendering {
  ///
  /// - Parameter isShort: for a small window: what waits for somebody comes right after the head, and nothing else.
  mutating func watch(_ watched: Watched, isShort: Bool = false, at now: ContinuousClock.Instant = .now) {
    guard let status = watched.status else { return }
    guard !isShort else { return diagnostics(status) }
    self.status(status)
    bars(status.peers, watched, now)
    lastOperations(watched.operations)
  }

  private mutating func bars(_ peers: [Peer], _ watched: Watched, _ now: ContinuousClock.Instant) {
    for peer in peers {
      for direction in Watched.Direction.allCases {
        guard let (done, total, seconds) = watched.catchUp(peer, direction, at: now) else { continue }
        let name = "\(direction == .behind ? "from" : "to") \(printable(peer.name))"
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
