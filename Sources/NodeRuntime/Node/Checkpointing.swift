import Engine
import Home
import RecordTables
import Storage

/// Decides when the write-ahead log (WAL) is checkpointed into the database.
///
/// Checkpoints never run inside a transaction. They wait for a quiet moment, unless the WAL has grown so large that
/// slower reads cost more than the checkpoint.
struct Checkpointing {
  /// Whether the timer for the next quiet moment is set.
  var isDue = false

  struct Step {
    /// Whether the WAL has grown too large to wait.
    let isOverdue: Bool
    /// How long to wait for a quiet moment, in milliseconds; nil to leave the timer as it is.
    let wait: Int64?
  }

  /// Returns what to do after a transaction; nil if the WAL is still short.
  ///
  /// - Parameters:
  ///   - report: the report of the newest transaction; nil when the node begins to serve.
  ///   - isErasing: whether erased values may still be in the WAL, so that it must be truncated however short it is.
  func step(
    after report: CommitReport?, pages: Int, lacksIndex: Bool, isErasing: Bool = false, diskBytes: UInt64
  ) -> Step? {
    guard pages > Self.pagesWorthwhile || lacksIndex || isErasing || report == nil else { return nil }
    // On a small disk, the WAL alone could fill the disk.
    let isOverdue = pages > min(Self.pagesMax, Int(diskBytes / 8 / Self.pageBytes))
    let entries = report?.entryCount ?? .max
    // Small changes do not postpone a checkpoint that is due.
    if isDue, entries < Self.entriesOfQuiet { return Step(isOverdue: isOverdue, wait: nil) }
    // A few edits by hand are checkpointed soon, so that the WAL stays within its reserved length.
    let isShort = entries < Self.entriesByHand && !lacksIndex
    return Step(
      isOverdue: isOverdue, wait: isShort ? Self.pauseMilliseconds : Self.quietMilliseconds)
  }

  /// Returns whether to preallocate the WAL to its usual length. It is not preallocated on a disk with little space.
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
  /// How long to wait after a reader has prevented the truncation of the WAL.
  static let retryMilliseconds: Int64 = 1_000
}
