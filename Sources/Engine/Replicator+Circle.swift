package import Membership
import Replication
package import Storage
import Wire

/// Effects of the circle's statements on the store, and statements of this device's own.
extension Replicator {
  /// Adds a fork proof to the circle for each log that was found to have forked.
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

  /// Starts a new incarnation if a log of the current one has forked, or has been cut by another copy of this data:
  /// sets after the cut would not count anywhere.
  func leaveEndedLogs(_ now: Now) {
    if circle.evaluation.hasForked(device, incarnation) { leaveIncarnation("its log has forked", now: now) }
    if circle.evaluation.hasEnded(device, incarnation) {
      leaveIncarnation("another copy of its data has ended its log", now: now)
    }
  }

  /// Starts a new incarnation if a log of the current one has lost its newest sets to quarantine: peers may hold those,
  /// so writing on from an earlier set would fork the log.
  func leaveShortenedLogs(_ now: Now) throws {
    if try store.hasQuarantined(device, incarnation) {
      leaveIncarnation("a voided cut has moved its newest sets to quarantine", now: now)
    }
  }

  /// Stores which devices have acknowledged which revocation, so that a restart does not lose it.
  func keepAcknowledgements() {
    let counted = Set(circle.evaluation.revocations.values.joined().map(\.id))
    replica.acknowledgedRevocations = replica.acknowledgedRevocations.filter { counted.contains($0.key) }
    trying { try store.keepAcknowledgedRevocations(replica.acknowledgedRevocations) }
  }

  /// Stores the lower bound of gate time, so that premium that was seen to end stays ended.
  func keepGateFloor() {
    trying { try store.setGateFloor(replica.gateFloor) }
  }
}

extension Evaluation {
  /// Whether a log of an incarnation is known to have forked.
  func hasForked(_ device: DeviceKey, _ incarnation: Incarnation) -> Bool {
    forkProofs.contains { $0.log.device == device && $0.log.incarnation == incarnation }
  }

  /// Whether a device has cut a log of its own incarnation.
  func hasEnded(_ device: DeviceKey, _ incarnation: Incarnation) -> Bool {
    Lane.allCases.contains { logCuts[LogKey(device: device, incarnation: incarnation, lane: $0)] != nil }
  }
}

extension Circle {
  /// The circle whose statements a store holds.
  package init(store: Store) throws {
    try self.init(statements: try store.statements().map { try Statement($0) })
  }
}

extension LocalPremium {
  /// Premium by the traits of this build and the mock purchase in a store.
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
  /// The statement that proves the fork, with the headers of both sets.
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
