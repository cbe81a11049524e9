/// Limits how often refused strangers are logged: anyone who has seen an old ticket can open connections all day, and
/// the log of a service is never truncated.
///
///     quiet ──refused: log it──▶ counting ──a minute, none since──▶ quiet
///                                 ▲    └──a minute: log the count──┐
///                                 └────────────────────────────────┘
struct StrangerLog {
  static let milliseconds: Int64 = 60_000

  private var isCounting = false
  private var count = 0
  private var last = ""

  /// Notes a refused connection. Returns the line to log now; nil if it is only counted. After each line,
  /// `minutePassed` is to be called a minute later.
  mutating func refused(_ address: String, _ why: String) -> String? {
    let line = "\(address): \(why)"
    guard !isCounting else {
      (count, last) = (count + 1, line)
      return nil
    }
    isCounting = true
    return line
  }

  /// Returns the line about the refused connections of the last minute; nil if there were none.
  mutating func minutePassed() -> String? {
    defer { (isCounting, count) = (count > 0, 0) }
    guard count > 0 else { return nil }
    return count == 1 ? last : "\(count) more connections refused in the last minute, the last from \(last)"
  }
}
