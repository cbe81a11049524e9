import Engine
import Storage

/// When the write-ahead log is moved into the database.
///
/// That never happens inside a transaction: it waits for a quiet moment, unless the log has grown so large that reading
/// suffers more than waiting.
struct Checkpointing {
  /// A timer for the next quiet moment is set.
  var isDue = false

  struct Step {
    /// Whether the log has grown too large to wait.
    let isOverdue: Bool
    /// How long to wait for quiet; nil if the timer that is set stays.
    let wait: Int64?
  }

  /// What follows from a transaction; nil if the log is still short.
  ///
  /// - Parameter report: of the newest transaction; nil when the node begins to serve.
  func step(after report: CommitReport?, pages: Int, lacksIndex: Bool, diskBytes: UInt64) -> Step? {
    guard pages > Self.pagesWorthwhile || lacksIndex || report == nil else { return nil }
    // On a small disk the write-ahead log alone would take all of the room.
    let isOverdue = pages > min(Self.pagesMax, Int(diskBytes / 8 / Self.pageBytes))
    let entries = report?.entryCount ?? .max
    // A change now and then is quiet enough: it does not put off what has been waiting for.
    if isDue, entries < Self.entriesOfQuiet { return Step(isOverdue: isOverdue, wait: nil) }
    // What few changes by hand have written is soon moved, and so the log stays within its length.
    let isShort = entries < Self.entriesByHand && !lacksIndex
    return Step(
      isOverdue: isOverdue, wait: isShort ? Self.pauseMilliseconds : Self.quietMilliseconds)
  }

  /// Whether the log is given its usual length at once: not on a disk with little room.
  static func reservesLog(_ ballast: Ballast) -> Bool {
    ballast.hasRoom && ballast.diskBytes > diskBytesOfReserve
  }

  private static let pageBytes: UInt64 = 4_096
  private static let diskBytesOfReserve: UInt64 = 1 << 30
  private static let pagesWorthwhile = 600
  private static let pagesMax = 32_768
  private static let entriesOfQuiet = 500
  private static let entriesByHand = 20
  private static let quietMilliseconds: Int64 = 500
  private static let pauseMilliseconds: Int64 = 20
}
