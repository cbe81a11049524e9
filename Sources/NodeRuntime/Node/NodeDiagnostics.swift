import Engine
import Home
import JSONDocument
package import Membership
import Model
import Reasons
import Records
import Replication
import Storage
package import Wire

/// A snapshot of a node, with which tests compare several nodes.
package struct NodeDiagnostics: Sendable {
  package struct LaneDiagnostics: Hashable, Sendable {
    package let heads: Bytes32
    package let digest: Bytes32
    package let changeSets: Int
    /// Whether this node's gate for the lane is open.
    package let isOpen: Bool
  }

  package struct SessionDiagnostics: Sendable {
    /// Whether both sides have exchanged their state and neither lacks anything that the other has.
    package let isInSync: Bool
    package let isRecordsOpen: Bool
    /// Whether the peer declares the lane open, but this node has no certificate that allows it.
    package let isUnproven: Bool
  }

  package let device: DeviceKey
  package let isServing: Bool
  package let evaluation: Evaluation
  package let paused: Set<DeviceKey>
  /// The hash of the set of statements.
  package let statements: Bytes32
  package let settings: LaneDiagnostics
  package let records: LaneDiagnostics
  package let sessions: [DeviceKey: SessionDiagnostics]
  /// The state and reason of each peer, such as `offline (dial_refused)`.
  package let peerStates: [DeviceKey: String]

  package subscript(lane: Lane) -> LaneDiagnostics { lane == .settings ? settings : records }
}

extension NodeDiagnostics {
  /// - Throws: `WaymarkError` once the node is closed.
  package init(of node: NodeCore) throws {
    try node.checkOpen()
    var sessions: [DeviceKey: SessionDiagnostics] = [:]
    for session in node.replica.sessions.values {
      guard let device = session.device, !session.isClosing else { continue }
      var isUnproven = false
      if case .peerNotPremium = session.records.reason { isUnproven = true }
      sessions[device] = SessionDiagnostics(
        isInSync: session.isCurrent && session.isInSync, isRecordsOpen: session.records.isOpen,
        isUnproven: isUnproven)
    }
    func lane(_ lane: Lane, isOpen: Bool) -> LaneDiagnostics {
      LaneDiagnostics(
        heads: node.replica[lane].heads.foldedHash, digest: node.store.digest(lane).sum,
        changeSets: Int(clamping: node.store.changeSetCount(lane)), isOpen: isOpen)
    }
    let now = node.wall()
    device = node.identity.device
    isServing = node.isServing
    evaluation = node.circle.evaluation
    paused = node.connections.peering.paused
    statements = node.circle.setHash
    settings = lane(.settings, isOpen: true)
    records = lane(.records, isOpen: node.replica.ownGate(now: now).isOpen)
    self.sessions = sessions
    peerStates = Dictionary(
      try node.inspection().peers().map { ($0.device, "\($0.state.rawValue) (\($0.reason.rawValue))") }
    ) { first, _ in first }
  }

  /// Returns the number of visible records of each kind, not counting unmodified seeds.
  package static func counts(of node: NodeCore) throws -> [(kind: String, count: Int)] {
    try node.checkOpen()
    let counts = try node.store.visibleCounts()
    return node.store.schema.kinds.map { ($0.plural, counts[$0.number] ?? 0) }
  }

  /// Returns all visible records of a lane, keyed by kind, name and id, with their fields as text.
  package static func content(
    of node: NodeCore, _ lane: Lane
  ) throws -> [String: [String: String]] {
    try node.checkOpen()
    var content: [String: [String: String]] = [:]
    for kind in node.store.schema.kinds where kind.number.lane == lane {
      try node.store.forEach(RecordQuery(kind.number)) { row in
        let name = kind.title(of: row).map { " “\(shortened($0))”" } ?? ""
        var fields: [String: String] = [:]
        for (number, value) in row.fields where value != .null {
          let field = kind.fields.first { $0.number == number }?.name ?? "field \(number)"
          fields[field] = shortened("\(value.documentJSON.text())")
        }
        content["\(kind.name)\(name) \(row.key.id.uuid)"] = fields
      }
    }
    return content
  }
}
