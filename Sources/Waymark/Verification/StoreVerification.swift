public import Foundation
import Replication
import Storage
import Wire

/// Whether this device's store is what its own signed log says.
public struct StoreVerification: Hashable, Sendable, Codable {
  /// Whether all is well, after a repair if there was one.
  public let isSound: Bool
  /// A sentence for people.
  public let text: String
  /// The command of `waymark` that helps.
  public let next: Step?
  /// How many statements of the circle were verified.
  public let statements: Int
  /// How many change sets were verified.
  public let changeSets: Int
  /// How many rows were compared.
  public let rows: Int
  /// How much was found.
  public let found: Int
  /// The first of what was found.
  public let findings: [Finding]
  /// Whether a repair helped; nil if there was none.
  public let isMended: Bool?
  /// The backup that was taken before a repair.
  public let backup: String?

  /// Something that is not as the log says.
  public struct Finding: Hashable, Sendable, Codable {
    /// Where: `log`, `records`, `index`, `file`.
    public let place: String
    /// The kind of the record; nil if it is about none.
    public let kind: RecordKind?
    /// The id of the record.
    public let id: UUID?
    /// What the record is called.
    public let name: String?
    /// The fields that differ.
    public let fields: [String]
    /// A sentence for people.
    public let text: String
  }

  private enum CodingKeys: String, CodingKey {
    case isSound = "ok"
    case text
    case next
    case statements
    case changeSets
    case rows
    case found
    case findings
    case isMended = "mended"
    case backup
  }
}

extension StoreVerification {
  /// Verifies the store of a home that no node has open, and that perhaps none can open.
  package init(
    closedStoreOf home: Home, repairing: Bool,
    progress: @escaping @Sendable (WorkProgress) -> Void
  ) async throws {
    self.init(try await DeepCheck.runClosed(home, repairing: repairing, progress))
  }

  init(_ outcome: DeepOutcome) {
    let (found, after) = (outcome.found, outcome.after)
    isSound = (after ?? found).isClean
    text = outcome.text
    next = outcome.next
    statements = found.statements
    changeSets = Int(clamping: found.changeSets)
    rows = Int(clamping: found.rows)
    self.found = found.count
    findings = found.findings.map { finding in
      Finding(
        place: finding.place.rawValue, kind: finding.record.map { RecordKind($0.kind) },
        id: finding.record.map { UUID($0.id) }, name: finding.title, fields: finding.fields,
        text: finding.text)
    }
    isMended = after?.isClean
    backup = outcome.backup
  }
}
