import Replication
import Wire

/// Traffic between nodes, by topic.
struct Traffic {
  private var counts: [About: (messages: Int, bytes: Int)] = [:]
  /// Change sets that were sent, each copy counted.
  private(set) var sets = 0

  enum About: CaseIterable {
    /// Sets, and the message that ends an answer with sets.
    case sets
    /// Heads and wants.
    case heads
    /// Comparisons of state.
    case state
    /// Files, and questions about them.
    case files
    /// Certificates and session openings.
    case circle
  }

  mutating func count(_ message: Message, bytes: Int) {
    if case .sets(_, let sets) = message { self.sets += sets.count }
    let known = counts[message.about] ?? (0, 0)
    counts[message.about] = (known.messages + 1, known.bytes + bytes)
  }

  subscript(about: About) -> (messages: Int, bytes: Int) { counts[about] ?? (0, 0) }

  var messages: Int { counts.values.reduce(0) { $0 + $1.messages } }
  var bytes: Int { counts.values.reduce(0) { $0 + $1.bytes } }
}

extension Message {
  fileprivate var about: Traffic.About {
    switch self {
    case .sets, .served, .wantValues, .values: .sets
    case .heads, .want: .heads
    case .state, .summary: .state
    case .file: .files
    case .introduction, .statementIDs, .statements, .goodbye, .query, .answer, .refusal, .unknown: .circle
    }
  }
}
