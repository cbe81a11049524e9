import Home
public import Reasons
/// The findings of an examination of a home; see ``Node/examine(writingTo:)``.
public struct Diagnosis: Hashable, Sendable, Codable {
  /// Whether nothing is broken.
  public let isSound: Bool
  /// One finding or more for each check.
  public let findings: [Finding]
  /// The file that the report was written to; nil if none was requested.
  public let report: String?

  /// The result of a check.
  public struct Finding: Hashable, Sendable, Codable {
    /// What was checked.
    public let check: Check
    /// How severe the finding is.
    public let severity: Severity
    /// The code for programs; `ok` if nothing is wrong.
    public let code: Reason
    /// A sentence for people.
    public let text: String
    /// What to do next.
    public let next: Step?
  }

  /// The subject of a check.
  public enum Check: String, Hashable, Sendable, Codable {
    /// Whether the node answers.
    case node
    /// The configuration file of the command line.
    case configuration
    /// The permissions and owners of files.
    case permissions
    /// The key files.
    case keys
    /// The store, and the problems that nodes report about it.
    case store
    /// The free space on the disk.
    case disk
    /// This machine's clock, compared with those of peers.
    case clock
    /// The port that the node listens on.
    case port
    /// The other devices.
    case peers
    /// Sync of records, conflicts, and large changes.
    case sync
    /// Whether other devices hold copies of the data.
    case safety
  }

  /// How severe a finding is.
  public enum Severity: String, Hashable, Sendable, Codable {
    /// No problem.
    case ok
    /// A state to know about, which needs no action.
    case info
    /// Something needs attention.
    case warning
    /// Something is broken.
    case error
  }

  private enum CodingKeys: String, CodingKey {
    case isSound = "ok"
    case findings
    case report
  }
}
