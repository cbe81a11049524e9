import Console
import Waymark

extension ServiceNotifier {
  /// Regularly reports that the node is alive, and how many peers it is connected to. It asks the node each time, so a
  /// node that hangs stops reporting.
  func watch(_ node: Node, listening: String) -> Task<Void, Never>? {
    guard hasSocket else { return nil }
    let period = min(.seconds(10), (watchdog ?? .seconds(60)) / 3)
    return Task {
      var reported = ""
      while !Task.isCancelled {
        let text = Self.text(await node.company, listening)
        guard !Task.isCancelled else { return }
        if text != reported { status(text) }
        reported = text
        if watchdog != nil { alive() }
        try? await Task.sleep(for: period)
      }
    }
  }

  static func text(_ company: (connected: Int, others: Int), _ listening: String) -> String {
    let others =
      company.others == 0
      ? "no other device yet"
      : "connected to \(company.connected) of \(counted(Int64(company.others), "device"))"
    return "Serving at \(listening), \(others)"
  }
}
