public import Platform
package import Home
import Model
package import NodeRuntime
public import Reasons
public import Records
import Replication
import Verification
import Wire

/// The result of verifying this device's store against its signed log.
public struct StoreVerification: Hashable, Sendable, Codable {
  /// Whether the store is sound, after the repair if there was one.
  public let isSound: Bool
  /// The result as a human-readable sentence.
  public let text: String
  /// What to do next, usually a `waymark` command; nil if nothing is needed.
  public let next: Step?
  /// The number of statements verified.
  public let statements: Int
  /// The number of change sets verified.
  public let changeSets: Int
  /// The number of rows compared.
  public let rows: Int
  /// The number of entries of change sets whose values were erased.
  public let erasedValues: Int
  /// The number of entries of change sets whose values are missing, although nothing was erased.
  public let missingValues: Int
  /// The number of change sets whose values are damaged. They are also findings.
  public let damagedValues: Int
  /// The number of attachments and pictures verified that are stored as files.
  public let files: Int
  /// The number of these files whose bytes are damaged. They are also findings.
  public let damagedFiles: Int
  /// The number of findings.
  public let found: Int
  /// The first findings.
  public let findings: [Finding]
  /// Whether the repair succeeded; nil if there was none.
  public let isRepaired: Bool?
  /// The path of the backup taken before the repair; nil if there was none.
  public let backup: String?

  /// A difference between the store and its log.
  public struct Finding: Hashable, Sendable, Codable {
    /// Where the difference was found: `log`, `records`, `index`, `file` or `content`.
    public let place: String
    /// The kind of the record; nil if the finding concerns no record.
    public let kind: RecordKind?
    /// The id of the record; nil if the finding concerns no record.
    public let id: UUID?
    /// The name of the record; nil if it has none.
    public let name: String?
    /// The fields that differ.
    public let fields: [String]
    /// The finding as a human-readable sentence.
    public let text: String
  }

  private enum CodingKeys: String, CodingKey {
    case isSound = "ok"
    case text
    case next
    case statements
    case changeSets
    case rows
    case erasedValues
    case missingValues
    case damagedValues
    case files
    case damagedFiles
    case found
    case findings
    case isRepaired = "repaired"
    case backup
  }
}

extension StoreVerification {
  /// Verifies the store of a home that no node has open, even if it can't be opened.
  package init(
    closedStoreOf home: Home, repairing: Bool,
    progress: @escaping @Sendable (WorkProgress) -> Void
  ) async throws {
    self.init(try await DeepCheck.runClosed(home, repairing: repairing, progress))
  }

  /// Verifies the store of an open node.
  package static func run(
    on node: NodeCore, repairing: Bool, _ progress: @escaping @Sendable (WorkProgress) -> Void
  ) async throws -> StoreVerification {
    try await node.withWaymarkErrors {
      guard !node.maintenance.isVerifying else {
        throw WaymarkError.failed(
          .busy, "The store is already being verified.", next: "wait until that is done, then try again")
      }
      try node.checkHasDirectory("Verifying the store")
      node.maintenance.isVerifying = true
      defer { node.maintenance.isVerifying = false }
      return StoreVerification(try await DeepCheck(node.home).run(on: node, repairing: repairing, progress))
    }
  }

  init(_ outcome: DeepOutcome) {
    let (found, after) = (outcome.found, outcome.after)
    isSound = (after ?? found).isClean
    text = outcome.text
    next = outcome.next
    statements = found.statements
    changeSets = Int(clamping: found.changeSets)
    rows = Int(clamping: found.rows)
    erasedValues = found.erasedValues
    missingValues = found.missingValues
    damagedValues = found.damagedValues.count
    (files, damagedFiles) = (found.files, found.damagedFiles.count)
    self.found = found.count
    findings = found.findings.map { finding in
      Finding(
        place: finding.location.rawValue, kind: finding.record.map { found.schema.name($0.kind) },
        id: finding.record.map { UUID($0.id) }, name: finding.title, fields: finding.fields,
        text: finding.text)
    }
    isRepaired = after?.isClean
    backup = outcome.backup
  }
}
