import Console
import JSONDocument
import Waymark
import WaymarkCare

/// `status --watch`: the status, the progress of each peer, and the newest operations.
extension Rendering {
  /// Writes the status, the progress bars and the newest operations.
  ///
  /// - Parameter isShort: whether to fit a small window: only the status, with anything that needs attention right
  ///   after the header.
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
    data.line("Newest operations", .faint)
    data.table(table)
  }
}
