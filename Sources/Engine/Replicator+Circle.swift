package import Membership
import RecordTables
import Replication
package import Storage
import Wire

/// How the circle's statements affect the store, and which statements this device itself adds.
extension Replicator {
  /// Adds a fork proof to the circle for each log in which a fork was found.
  func proveForks(_ now: Now) {
    let forks = unprovenForks
    unprovenForks = []
    var proofs: [[UInt8]] = []
    var proved = Set(circle.evaluation.forkProofs.map(\.log))
    for fork in forks where proved.insert(fork.set.header.log).inserted {
      do {
        proofs.append(try fork.proof(circle: circle.id).bytes)
      } catch {
        shell?.note(.unprovable(fork, why: "\(error)"))
      }
    }
    if !proofs.isEmpty { handle(.statementsAdded(proofs), now: now) }
  }

  /// Adds a branch proof to the circle for each tree of which too many branches are stored.
  func proveBranches(_ now: Now) {
    let trees = unprovenTrees.sorted()
    unprovenTrees = []
    var proofs: [[UInt8]] = []
    for tree in trees where !circle.evaluation.isRevoked(tree.device) {
      do {
        let sets = try store.setsAtForks(of: tree).map { ($0.raw.header, $0.raw.signature) }
        let proof = try BranchProof.statement(circle: circle.id, sets)
        guard case .branchProof(let body) = proof.content,
          circle.evaluation.branchProofs[tree].map({ body.line < $0.line }) ?? true
        else { continue }
        proofs.append(proof.bytes)
      } catch let error as StatementError {
        shell?.note(.unprovableTree(tree, why: "\(error)"))
      } catch {
        storeFailed(error)
      }
    }
    if !proofs.isEmpty { handle(.statementsAdded(proofs), now: now) }
  }

  /// Starts a new incarnation if a log of the current one has forked, or if another copy of this data has cut it. Sets
  /// written after the cut would be excluded on every device.
  func leaveEndedLogs(_ now: Now) {
    if circle.evaluation.hasForked(device, incarnation) { leaveIncarnation("its log has forked", now: now) }
    if circle.evaluation.hasTooManyBranches(device, incarnation) {
      leaveIncarnation("too many branches of its logs were written", now: now)
    }
    if circle.evaluation.hasEnded(device, incarnation) {
      leaveIncarnation("another copy of its data has ended its log", now: now)
    }
  }

  /// Starts a new incarnation if the newest sets of the current one's logs are in quarantine. Peers may hold those
  /// sets, so continuing after an earlier set would fork the log.
  func leaveShortenedLogs(_ now: Now) throws {
    if try store.hasQuarantined(device, incarnation) {
      leaveIncarnation("a voided cut has moved its newest sets to quarantine", now: now)
    }
  }

  /// Stores which devices have acknowledged which revocation, so that this is not lost at a restart.
  func keepAcknowledgements() {
    let counted = Set(circle.evaluation.revocations.values.joined().map(\.id))
    replica.acknowledgedRevocations = replica.acknowledgedRevocations.filter { counted.contains($0.key) }
    trying { try store.keepAcknowledgedRevocations(replica.acknowledgedRevocations) }
  }

  /// Stores the lower bound of gate time, so that an entitlement that was seen to end is not revived.
  func keepGateFloor() {
    trying { try store.setGateFloor(replica.gateFloor) }
  }
}

extension Evaluation {
  /// Returns whether a log of an incarnation is known to have forked.
  func hasForked(_ device: DeviceKey, _ incarnation: Incarnation) -> Bool {
    forkProofs.contains { $0.log.device == device && $0.log.incarnation == incarnation }
  }

  /// Returns whether a branch proof ends logs with the number of an incarnation.
  func hasTooManyBranches(_ device: DeviceKey, _ incarnation: Incarnation) -> Bool {
    Lane.allCases.contains {
      branchProofs[LogTree(device: device, number: incarnation.number, lane: $0)] != nil
    }
  }

  func isRevoked(_ device: DeviceKey) -> Bool { revocations[device] != nil }

  /// The ids of the revocations and grants that count.
  var decisionsOfAdmins: Set<StatementID> {
    Set(revocations.values.joined().map(\.id)).union(grants.values.map(\.id))
  }

  /// Returns whether a device has cut a log of one of its own incarnations.
  func hasEnded(_ device: DeviceKey, _ incarnation: Incarnation) -> Bool {
    Lane.allCases.contains { logCuts[LogKey(device: device, incarnation: incarnation, lane: $0)] != nil }
  }
}

extension Circle {
  /// Creates the circle from the statements in a store.
  ///
  /// - Parameter quotas: the quotas of devices without a grant.
  package init(store: Store, quotas: DeviceQuotas = .standard) throws {
    try self.init(statements: try store.statements().map { try Statement($0) }, quotas: quotas)
  }
}

extension LocalPremium {
  /// Determines local premium from the traits of this build and the mock purchase in a store.
  package init(_ store: Store) throws {
    if BuildTraits.allFeatures {
      self = .allFeatures
    } else if BuildTraits.mockPurchases, let end = try store.meta(MetaKey.mockPurchase) {
      self = .mock(until: Int64(String(decoding: end, as: UTF8.self)))
    } else {
      self = .none
    }
  }
}

extension Fork {
  /// Returns the statement that proves the fork. It contains the headers of both sets.
  fileprivate func proof(circle: CircleID) throws(StatementError) -> Statement {
    try ForkProof.statement(
      circle: circle, (set.raw.header, set.raw.signature), (sibling.raw.header, sibling.raw.signature))
  }
}

extension Store {
  func gateFloor() throws -> Moment? { try metaLines(MetaKey.gateFloor).first.flatMap { Moment($0) } }

  func setGateFloor(_ moment: Moment?) throws {
    try setMeta(MetaKey.gateFloor, moment.map { Array("\($0)".utf8) })
  }

  func acknowledgedRevocations() throws -> [StatementID: Set<DeviceKey>] {
    var acknowledged: [StatementID: Set<DeviceKey>] = [:]
    for line in try metaLines(MetaKey.acknowledged) {
      let words = line.split(separator: " ")
      guard words.count == 2, let id = StatementID(hex: words[0]), let device = DeviceKey(hex: words[1])
      else {
        continue
      }
      acknowledged[id, default: []].insert(device)
    }
    return acknowledged
  }

  func keepAcknowledgedRevocations(_ acknowledged: [StatementID: Set<DeviceKey>]) throws {
    let lines = acknowledged.sorted { $0.key < $1.key }
      .flatMap { id, devices in devices.sorted().map { "\(id) \($0)" } }
    try setMetaLines(MetaKey.acknowledged, lines)
  }
}
