public import Home
/// What an examination of a home found; see ``Node/examine(writingTo:)``.
public struct Diagnosis: Hashable, Sendable, Codable {
  /// Whether nothing is broken.
  public let isSound: Bool
  /// Everything that was looked at, with what was found.
  public let findings: [Finding]
  /// The file that the report was written to; nil if none was wanted.
  public let report: String?

  /// One thing that was looked at.
  public struct Finding: Hashable, Sendable, Codable {
    /// What was looked at.
    public let check: Check
    /// How bad it is.
    public let severity: Severity
    /// What programs go by; `ok` where nothing is wrong.
    public let code: Reason
    /// A sentence for people.
    public let text: String
    /// What to do next.
    public let next: Step?
  }

  /// What was looked at.
  public enum Check: String, Hashable, Sendable, Codable {
    /// Whether the node answers.
    case node
    /// The configuration file of the command line.
    case configuration
    /// Who may read the files.
    case permissions
    /// The key files.
    case keys
    /// The store, and what nodes say of it.
    case store
    /// The room on the disk.
    case disk
    /// This machine's clock, compared with that of peers.
    case clock
    /// The port at which the node listens.
    case port
    /// The other devices.
    case peers
    /// The gate, conflicts, and large changes.
    case sync
    /// Whether other devices hold what is here.
    case safety
  }

  /// How bad it is.
  public enum Severity: String, Hashable, Sendable, Codable {
    /// As it should be.
    case ok
    /// A state, nothing to do.
    case info
    /// Something waits, or will not happen by itself.
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
