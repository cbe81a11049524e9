package import Membership
import Replication
package import Storage
import Wire

/// What the circle's statements mean for the own store, and what this device adds to them.
extension Replicator {
  /// Tells the circle of forks that came to light, one proof a log.
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

  /// Leaves an own log that has forked, or that another copy of this data has ended: what is written behind the end
  /// of a log counts for nobody.
  func leaveEndedLogs(_ now: Now) {
    if circle.evaluation.hasForked(device, incarnation) { leaveIncarnation("its log has forked", now: now) }
    if circle.evaluation.hasEnded(device, incarnation) {
      leaveIncarnation("another copy of its data has ended its log", now: now)
    }
  }

  /// Leaves an own log that ends further back than before: others may hold what is not in it for now.
  func leaveShortenedLogs(_ now: Now) throws {
    if try store.hasQuarantined(device, incarnation) {
      leaveIncarnation("a cut has ended that left out what its newest sets have seen", now: now)
    }
  }

  /// Keeps who holds which revocation: a restart must not make it doubtful again.
  func keepAcknowledgements() {
    let counted = Set(circle.evaluation.revocations.values.joined().map(\.id))
    replica.acknowledgedRevocations = replica.acknowledgedRevocations.filter { counted.contains($0.key) }
    trying { try store.keepAcknowledgedRevocations(replica.acknowledgedRevocations) }
  }

  /// Keeps below what gate time never falls: premium that was seen to end stays so.
  func keepGateFloor() {
    trying { try store.setGateFloor(replica.gateFloor) }
  }
}

extension Evaluation {
  /// Whether a log of an incarnation is known to have forked.
  func hasForked(_ device: DeviceKey, _ incarnation: Incarnation) -> Bool {
    forkProofs.contains { $0.log.device == device && $0.log.incarnation == incarnation }
  }

  /// Whether a device has itself ended a log of an incarnation.
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
  /// What this build and the purchases kept in a store give.
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
  /// The statement that shows both sets.
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
    var heard: [StatementID: Set<DeviceKey>] = [:]
    for line in try metaLines(MetaKey.acknowledged) {
      let words = line.split(separator: " ")
      guard words.count == 2, let id = StatementID(hex: words[0]), let device = DeviceKey(hex: words[1])
      else {
        continue
      }
      heard[id, default: []].insert(device)
    }
    return heard
  }

  func keepAcknowledgedRevocations(_ heard: [StatementID: Set<DeviceKey>]) throws {
    let lines = heard.sorted { $0.key < $1.key }
      .flatMap { id, devices in devices.sorted().map { "\(id) \($0)" } }
    try setMetaLines(MetaKey.acknowledged, lines)
  }
}
