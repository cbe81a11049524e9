import Foundation
import JSONDocument
import Membership
import Records
import Replication
import Storage
import Wire

/// `sync on --preview`: what would become of the records here and on the peers, before anything is written.
extension Node {
  /// One peer as a preview sees it: what it shows, or why it can't be asked.
  private struct Asked {
    let peer: Member
    var inventory: Inventory?
    var failure: WaymarkError?
  }

  func compareWithPeers() async throws -> SyncPreview {
    try await waitForIntroductions()
    let others = circle.evaluation.members.values.filter { $0.device != identity.device }
      .sorted { ($0.name, $0.device) < ($1.name, $1.device) }
    var asked: [Asked] = []
    for peer in others { asked.append(await ask(peer, after: asked)) }
    try checkOpen()
    return preview(own: try await Inventory.own(of: self), asked)
  }

  /// Peers that have just connected have not shown their certificates yet.
  func waitForIntroductions() async throws {
    _ = try await wait(milliseconds: Self.introductionMilliseconds) { node in
      node.replica.sessions.values.allSatisfy { $0.isClosing || $0.isCurrent }
    }
  }

  private func ask(_ peer: Member, after others: [Asked]) async -> Asked {
    do {
      // Who stands where another stands shows the same.
      // Of all answers the digests are never too many for a message.
      let folded = try await ask(peer.device, .records, .digests).folded
      let known = others.compactMap(\.inventory).first { $0.folded == folded }
      if let known { return Asked(peer: peer, inventory: known) }
      return Asked(peer: peer, inventory: try await Inventory.of(peer.device, asking: self))
    } catch let failure as WaymarkError {
      return Asked(peer: peer, failure: failure)
    } catch {
      return Asked(peer: peer, failure: .hungUp)
    }
  }

  private static let introductionMilliseconds: Int64 = 3_000

  // MARK: Comparing

  private func preview(own: Inventory, _ asked: [Asked]) -> SyncPreview {
    let reached = asked.filter { $0.inventory != nil }
    let comparison = InventoryComparison(own: own, theirs: reached.compactMap(\.inventory))
    let gate = replica.ownGate(now: wall())
    return SyncPreview(
      preference: gate.preference, isActive: gate.isOpen, premium: SyncState.Premium(gate),
      kinds: comparison.kindComparisons, total: SyncPreview.Comparison(comparison.total),
      differing: differing(comparison), profile: profile(own, reached),
      peers: reached.map { peer in
        let comparison = InventoryComparison(own: own, theirs: peer.inventory.map { [$0] } ?? [])
        return SyncPreview.Asked(
          device: peer.peer.device, name: peer.peer.name, kinds: comparison.kindComparisons,
          total: SyncPreview.Comparison(comparison.total), differing: differing(comparison),
          profile: profile(own, [peer]))
      }, notAsked: asked.compactMap(notAsked))
  }

  private func notAsked(_ asked: Asked) -> SyncPreview.NotAsked? {
    asked.failure.map { failure in
      SyncPreview.NotAsked(
        device: asked.peer.device, name: asked.peer.name, reason: failure.code,
        text: failure.code.isState ? failure.code.sentence(peer: asked.peer.name) : failure.message,
        next: failure.next)
    }
  }

  /// The names of some records that differ.
  private func differing(_ comparison: InventoryComparison) -> [RecordReference] {
    comparison.differing.prefix(Self.namesMax).map { key in
      // A damaged record can't be read, and is named by its id.
      let row = try? store.record(key)
      return RecordReference(
        kind: RecordKind(key.kind), id: UUID(key.id),
        name: row.flatMap { Registry.kind(key.kind)?.title(of: $0) })
    }
  }

  /// A record by its kind, id, and name here.
  func recordJSON(_ key: RecordKey) throws -> JSON {
    // A damaged record can't be read, and is named by its id.
    let row = try? store.record(key)
    return [
      "kind": .string(RecordKind(key.kind).rawValue), "id": .string(key.id.uuid),
      "name": .text(row.flatMap { Registry.kind(key.kind)?.title(of: $0) }),
    ]
  }

  /// How many records a document names.
  static let namesMax = 20

  // MARK: Profile

  private func profile(_ own: Inventory, _ peers: [Asked]) -> SyncPreview.Profile? {
    let held = peers.filter { $0.inventory?.profile != nil }
    let best = held.max { ($0.inventory?.profile ?? .lowest) < ($1.inventory?.profile ?? .lowest) }
    let outcome = ProfileOutcome(
      here: own.profile, there: best?.inventory?.profile,
      isSame: best?.inventory?.items[FixedRecords.profile] == own.items[FixedRecords.profile])
    guard outcome.here != nil || outcome.there != nil else { return nil }
    let winner = outcome.isHere ? identity.device : best?.peer.device ?? identity.device
    return SyncPreview.Profile(
      state: outcome.isSame
        ? .same : outcome.there == nil ? .onlyHere : outcome.here == nil ? .onlyThere : .differs,
      winner: outcome.isHere ? .here : .there, winnerDevice: winner, winnerName: name(of: winner),
      reason: outcome.reason?.rawValue, text: outcome.reason?.sentence, here: outcome.here.map(version),
      there: outcome.there.map(version))
  }

  private func version(_ rank: WholeRecordRank) -> SyncPreview.Profile.Version {
    let isTime = (0...Limits.timeMillisecondsMax).contains(rank.updatedAt)
    return SyncPreview.Profile.Version(
      updatedAt: isTime ? Date(milliseconds: rank.updatedAt) : nil, filledIn: rank.nonEmptyFields,
      device: rank.stamp.device, deviceName: name(of: rank.stamp.device),
      written: Date(milliseconds: rank.stamp.clock.milliseconds))
  }
}

extension InventoryComparison {
  /// In the order of the numbers of the kinds.
  fileprivate var kindComparisons: [SyncPreview.KindComparison] {
    kinds.sorted { $0.key < $1.key }.map { number, counts in
      let kind = RecordKind(number)
      return SyncPreview.KindComparison(
        kind: kind, plural: Registry.kind(number)?.plural ?? kind.rawValue, onlyHere: counts.onlyHere,
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

extension Node {
  /// What a person should see before sync is turned on; nil if there is nothing to see.
  ///
  /// Someone at a terminal is asked wherever records differ. A script is stopped only where two sets of data
  /// meet for the first time: turning sync off and on again is no such thing.
  ///
  /// - Parameter isAtTerminal: whether a person can be asked.
  package func reasonToAsk(isAtTerminal: Bool) async throws -> WaymarkError? {
    guard network != nil, try isAtTerminal || hasRecords() else { return nil }
    try await waitForIntroductions()
    if !isAtTerminal, try await !meetsStrangers() { return nil }
    let total = try await compareWithPeers().total
    guard
      isAtTerminal
        ? total.onlyHere + total.onlyThere + total.differing > 0 : total.onlyThere + total.differing > 0
    else { return nil }
    return .needsYes(
      "Turning sync on brings two sets of records together: \(total.onlyHere) only here, \(total.onlyThere) only on "
        + "other devices, \(total.differing) on both that differ. Nothing is written before your yes.",
      next: "\(waymark: "sync on --preview"), then \(waymark: "sync on --yes")")
  }

  private func hasRecords() throws -> Bool {
    try store.visibleCounts().contains { $0.key.lane == .records && $0.value > 0 }
  }

  /// Whether a peer that can be asked has records, and neither side has ever had a change of the other's logs.
  private func meetsStrangers() async throws -> Bool {
    let authors = Set(replica.records.heads.sorted.map(\.log.device))
    for peer in Set(replica.sessions.values.compactMap(\.device)).sorted() where !authors.contains(peer) {
      let heads: [LogHead]
      do { heads = try await self.heads(of: peer, .records) } catch let failure as WaymarkError {
        // So many logs can't be compared with those here: the person decides.
        if failure.code == .notComparable { return true }
        continue
      }
      try checkOpen()
      guard !heads.isEmpty else { continue }
      let known = Set(replica.records.heads.sorted.map(\.log))
      if known.isDisjoint(with: heads.map(\.log)) { return true }
    }
    return false
  }
}
