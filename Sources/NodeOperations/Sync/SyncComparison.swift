import Enrolment
import Platform
import Home
import Membership
import Model
package import NodeRuntime
package import Reasons
import Records
import Replication
import Storage
import Verification
import Wire

/// `sync on --preview`: compares the records here with those of the peers, without writing anything.
package struct SyncComparison {
  /// A peer with its inventory, or with the reason why the peer could not be asked.
  private struct Asked {
    let peer: Member
    var inventory: Inventory?
    var failure: WaymarkError?
  }

  private let own: Inventory
  private let asked: [Asked]
  private let gate: Gate
  private let device: DeviceKey
  private let store: Store
  private let names: DeviceNames

  /// Compares with all connected peers.
  package static func run(on node: NodeCore) async throws -> SyncPreview {
    try await PeerInquiry.waitForIntroductions(on: node)
    let others = node.circle.evaluation.members.values.filter { $0.device != node.identity.device }
      .sorted { ($0.name, $0.device) < ($1.name, $1.device) }
    var asked: [Asked] = []
    for peer in others { asked.append(await ask(peer, after: asked, on: node)) }
    try node.checkOpen()
    let own = try await Inventory.own(of: node)
    return SyncComparison(
      own: own, asked: asked, gate: node.replica.ownGate(now: node.wall()), device: node.identity.device,
      store: node.store, names: node.connections.names
    ).preview
  }

  private static func ask(_ peer: Member, after others: [Asked], on node: NodeCore) async -> Asked {
    do {
      // Peers that folded the same sets have the same inventory, so each different inventory is transferred only once.
      // To learn what a peer has folded, ask for its digests because, unlike heads, they always fit in one message.
      let folded = try await PeerInquiry(peer: peer.device).answer(.records, .digests, on: node).folded
      let known = others.compactMap(\.inventory).first { $0.folded == folded }
      if let known { return Asked(peer: peer, inventory: known) }
      return Asked(peer: peer, inventory: try await Inventory.of(peer.device, asking: node))
    } catch let failure as WaymarkError {
      return Asked(peer: peer, failure: failure)
    } catch {
      return Asked(peer: peer, failure: .hungUp)
    }
  }

  // MARK: Comparing

  private var preview: SyncPreview {
    let reached = asked.filter { $0.inventory != nil }
    let comparison = InventoryComparison(own: own, theirs: reached.compactMap(\.inventory))
    return SyncPreview(
      preference: gate.preference, isActive: gate.isOpen, premium: SyncState.Premium(gate),
      kinds: comparison.kindComparisons(store.schema), total: SyncPreview.Comparison(comparison.total),
      differing: differing(comparison), profile: profile(reached),
      peers: reached.map { peer in
        let comparison = InventoryComparison(own: own, theirs: peer.inventory.map { [$0] } ?? [])
        return SyncPreview.Asked(
          device: peer.peer.device, name: peer.peer.name, kinds: comparison.kindComparisons(store.schema),
          total: SyncPreview.Comparison(comparison.total), differing: differing(comparison),
          profile: profile([peer]))
      }, notAsked: asked.compactMap(notAsked))
  }

  private func notAsked(_ asked: Asked) -> SyncPreview.NotAsked? {
    asked.failure.map { failure in
      SyncPreview.NotAsked(
        device: asked.peer.device, name: asked.peer.name, reason: failure.reason,
        text: failure.reason.isState ? failure.reason.sentence(peer: asked.peer.name) : failure.message,
        next: failure.next)
    }
  }

  /// Returns the first records that differ.
  private func differing(_ comparison: InventoryComparison) -> [RecordReference] {
    comparison.differing.prefix(Self.namesMax).map { RecordReference($0, in: store) }
  }

  private static let namesMax = 20

  // MARK: Profile

  private func profile(_ peers: [Asked]) -> SyncPreview.Profile? {
    let held = peers.filter { $0.inventory?.profile != nil }
    let best = held.max { ($0.inventory?.profile ?? .lowest) < ($1.inventory?.profile ?? .lowest) }
    let outcome = ProfileOutcome(
      here: own.profile, there: best?.inventory?.profile,
      isSame: best?.inventory?.items[FixedRecords.profile] == own.items[FixedRecords.profile])
    guard outcome.here != nil || outcome.there != nil else { return nil }
    let winner = outcome.isHere ? device : best?.peer.device ?? device
    return SyncPreview.Profile(
      state: outcome.isSame
        ? .same : outcome.there == nil ? .onlyHere : outcome.here == nil ? .onlyThere : .differs,
      winner: outcome.isHere ? .here : .there, winnerDevice: winner, winnerName: names.name(of: winner),
      reason: outcome.reason?.rawValue, text: outcome.reason.map { .init(word: $0.sentence) },
      here: outcome.here.map(version),
      there: outcome.there.map(version))
  }

  private func version(_ rank: WholeRecordRank) -> SyncPreview.Profile.Version {
    let isTime = (0...Limits.timeMillisecondsMax).contains(rank.updatedAt)
    return SyncPreview.Profile.Version(
      updatedAt: isTime ? Date(milliseconds: rank.updatedAt) : nil, filledIn: rank.nonEmptyFields,
      device: rank.stamp.device, deviceName: names.name(of: rank.stamp.device),
      written: Date(milliseconds: rank.stamp.clock.milliseconds))
  }
}

extension InventoryComparison {
  /// The comparisons by kind, in the order of kind numbers.
  fileprivate func kindComparisons(_ schema: Schema) -> [SyncPreview.KindComparison] {
    kinds.sorted { $0.key < $1.key }.map { number, counts in
      let kind = schema.name(number)
      return SyncPreview.KindComparison(
        kind: kind, plural: schema.kind(number)?.plural ?? kind.rawValue, onlyHere: counts.onlyHere,
        onlyThere: counts.onlyThere, same: counts.same, differing: counts.differing)
    }
  }
}

extension SyncPreview.Comparison {
  fileprivate init(_ counts: KindComparison) {
    self.init(
      onlyHere: counts.onlyHere, onlyThere: counts.onlyThere, same: counts.same, differing: counts.differing)
  }
}

extension WholeRecordRank {
  fileprivate static let lowest = WholeRecordRank(updatedAt: .min, nonEmptyFields: 0, stamp: .zero)
}

// MARK: Before sync is turned on

extension SyncComparison {
  /// Returns the question that the person has to confirm before sync is turned on; nil if no confirmation is needed.
  ///
  /// Only the first meeting of two sets of records needs confirmation, not turning sync off and on again. The rule is
  /// the same at a terminal and in a script.
  package static func question(on node: NodeCore) async throws -> WaymarkError? {
    guard let records = try recordCount(node.store) else { return nil }
    try await PeerInquiry.waitForIntroductions(on: node)
    if try await meetsStrangers(node) {
      let total = try await run(on: node).total
      return total.onlyThere + total.differing > 0 ? .merging(total) : nil
    }
    let silent = hasExchanged(node) ? [] : silentMembers(node)
    return silent.isEmpty ? nil : .mayMerge(records, with: silent, isServing: node.isServing)
  }

  /// Returns the number of records on this device; nil if there are none.
  private static func recordCount(_ store: Store) throws -> Int? {
    let count = try store.visibleCounts().filter { $0.key.lane == .records }.map(\.value).reduce(0, +)
    return count > 0 ? count : nil
  }

  /// Returns whether a connected peer has records but has never exchanged any with this device, so that the two devices
  /// have no logs in common.
  private static func meetsStrangers(_ node: NodeCore) async throws -> Bool {
    let authors = Set(node.replica.records.heads.sorted.map(\.log.device))
    let peers = Set(node.replica.sessions.values.compactMap(\.device)).sorted()
    for peer in peers where !authors.contains(peer) {
      let heads: [LogHead]
      do { heads = try await PeerInquiry(peer: peer).recordHeads(on: node) } catch let failure as WaymarkError
      {
        // The peer has too many logs to compare them with those here: leave the decision to the person.
        if failure.reason == .notComparable { return true }
        continue
      }
      try node.checkOpen()
      guard !heads.isEmpty else { continue }
      let known = Set(node.replica.records.heads.sorted.map(\.log))
      if known.isDisjoint(with: heads.map(\.log)) { return true }
    }
    return false
  }

  /// Whether records of another device are here, or another device is known to hold records of this one. Then the
  /// records here are part of the circle's already.
  private static func hasExchanged(_ node: NodeCore) -> Bool {
    let heads = node.replica.records.heads.sorted
    if heads.contains(where: { $0.log.device != node.identity.device }) { return true }
    return node.replica.holdings.values.contains { !$0[.records].heads.sorted.isEmpty }
  }

  /// Returns the names of the members that can't be asked now which records they have.
  private static func silentMembers(_ node: NodeCore) -> [String] {
    node.connections.others.filter { node.replica.session(with: $0) == nil }
      .map { node.name(of: $0) }.sorted()
  }
}

extension WaymarkError {
  fileprivate static func merging(_ total: SyncPreview.Comparison) -> WaymarkError {
    .needsYes(
      "Turning sync on brings two sets of records together: \(total.onlyHere) only here, \(total.onlyThere) only on "
        + "other devices, \(total.differing) on both but different. Nothing is written until you confirm.",
      next: "\(waymark: "sync on --preview"), then \(waymark: "sync on --yes")")
  }

  fileprivate static func mayMerge(
    _ records: Int, with names: [String], isServing: Bool
  ) -> WaymarkError {
    let others = names.count <= 3 ? names.joined(separator: ", ") : "\(names.count) other devices"
    return .needsYes(
      "Turning sync on merges the \(plural(records, "record")) here with those of \(others), "
        + "which can't be compared now because \(isServing ? "they are not connected" : "the node is not running").",
      next: isServing
        ? .waymark("sync on --yes")
        : "\(waymark: "run"), then \(waymark: "sync on --preview"); or \(waymark: "sync on --yes")")
  }
}
