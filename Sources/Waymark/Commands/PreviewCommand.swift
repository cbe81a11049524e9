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

  /// The document of a preview.
  ///
  /// - Throws: `WaymarkError` if no node runs: nobody can be asked then.
  func syncPreview(_ request: CommandRequest) async throws -> JSON {
    guard network != nil else { throw WaymarkError.notServing }
    try await waitForIntroductions()
    let others = circle.evaluation.members.values.filter { $0.device != identity.device }
      .sorted { ($0.name, $0.device) < ($1.name, $1.device) }
    var asked: [Asked] = []
    for peer in others { asked.append(await ask(peer, after: asked)) }
    try checkOpen()
    return try previewDocument(request, own: try await Inventory.own(of: self), asked)
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

  // MARK: Document

  private func previewDocument(_ request: CommandRequest, own: Inventory, _ asked: [Asked]) throws -> JSON {
    let reached = asked.filter { $0.inventory != nil }
    let comparison = InventoryComparison(own: own, theirs: reached.compactMap(\.inventory))
    let gate = replica.ownGate(now: wall())
    var members: [JSON.Member] = [
      .init("preview", true), .init("preference", .bool(gate.preference)),
      .init("active", .bool(gate.isOpen)), .init("premium", PremiumSnapshot(gate).json),
    ]
    members += try json(comparison).members ?? []
    members.append(.init("profile", profile(own, reached)))
    members.append(
      .init(
        "peers",
        .array(
          try reached.map { peer in
            let comparison = InventoryComparison(own: own, theirs: peer.inventory.map { [$0] } ?? [])
            var document = named(peer.peer)
            for member in try json(comparison).members ?? [] { document[member.key] = member.value }
            document["profile"] = profile(own, [peer])
            return document
          })))
    members.append(.init("notAsked", .array(asked.compactMap(notAsked))))
    return document(request.command, members)
  }

  private func named(_ peer: Member) -> JSON {
    ["device": .string(peer.device.description), "name": .string(peer.name)]
  }

  private func notAsked(_ asked: Asked) -> JSON? {
    guard let failure = asked.failure else { return nil }
    let reason = Reason(rawValue: failure.code)
    var document = named(asked.peer)
    document["reason"] = .string(failure.code)
    document["text"] = .string(reason?.sentence(peer: asked.peer.name) ?? failure.message)
    document["next"] = .text(failure.next)
    return document
  }

  /// Kinds in the order of their numbers, all together, and the names of some records that differ.
  private func json(_ comparison: InventoryComparison) throws -> JSON {
    let kinds = comparison.kinds.sorted { $0.key < $1.key }.map { number, counts in
      let kind = RecordKind(number).rawValue
      var document: JSON = [
        "kind": .string(kind), "plural": .string(Registry.kind(number)?.plural ?? kind),
      ]
      for member in counts.json.members ?? [] { document[member.key] = member.value }
      return document
    }
    return [
      "kinds": .array(kinds), "total": comparison.total.json,
      "differing": .array(try comparison.differing.prefix(Self.namesMax).map { try recordJSON($0) }),
    ]
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

  private func profile(_ own: Inventory, _ peers: [Asked]) -> JSON {
    let held = peers.filter { $0.inventory?.profile != nil }
    let best = held.max { ($0.inventory?.profile ?? .lowest) < ($1.inventory?.profile ?? .lowest) }
    let outcome = ProfileOutcome(
      here: own.profile, there: best?.inventory?.profile,
      isSame: best?.inventory?.items[FixedRecords.profile] == own.items[FixedRecords.profile])
    guard outcome.here != nil || outcome.there != nil else { return .null }
    let winner = outcome.isHere ? nil : best?.peer
    let state =
      outcome.isSame
      ? "same" : outcome.there == nil ? "only_here" : outcome.here == nil ? "only_there" : "differs"
    return [
      "state": .string(state), "winner": outcome.isHere ? "here" : "there",
      "winnerDevice": .string((winner?.device ?? identity.device).description),
      "winnerName": .string(name(of: winner?.device ?? identity.device)),
      "reason": .text(outcome.reason?.rawValue), "text": .text(outcome.reason?.sentence),
      "here": json(outcome.here), "there": json(outcome.there),
    ]
  }

  private func json(_ rank: WholeRecordRank?) -> JSON {
    guard let rank else { return .null }
    let isTime = (0...Limits.timeMillisecondsMax).contains(rank.updatedAt)
    return [
      "updatedAt": timeJSON(isTime ? rank.updatedAt : nil), "filledIn": .integer(rank.nonEmptyFields),
      "device": .string(rank.stamp.device.description), "deviceName": .string(name(of: rank.stamp.device)),
      "written": timeJSON(rank.stamp.clock.milliseconds),
    ]
  }
}

extension KindComparison {
  fileprivate var json: JSON {
    [
      "onlyHere": .integer(onlyHere), "onlyThere": .integer(onlyThere), "same": .integer(same),
      "differing": .integer(differing),
    ]
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
  func reasonToAsk(_ request: CommandRequest) async throws -> WaymarkError? {
    let isAtTerminal = request.flag("interactive")
    guard network != nil, try isAtTerminal || hasRecords() else { return nil }
    try await waitForIntroductions()
    if !isAtTerminal, try await !meetsStrangers() { return nil }
    let preview = try await syncPreview(request)
    guard let total = preview["total"] else { return nil }
    func count(_ key: String) -> Int64 { total[key]?.integer ?? 0 }
    let (here, there, differing) = (count("onlyHere"), count("onlyThere"), count("differing"))
    guard isAtTerminal ? here + there + differing > 0 : there + differing > 0 else { return nil }
    return .needsYes(
      "Turning sync on brings two sets of records together: \(here) only here, \(there) only on other devices, "
        + "\(differing) on both that differ. Nothing is written before your yes.",
      next: "waymark sync on --preview, then waymark sync on --yes")
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
        if failure.code == WaymarkError.notComparableCode { return true }
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
