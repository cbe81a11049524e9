// Protocol/merge.md, "Overrides"

import Engine
import Platform
package import Home
import Membership
import Model
package import NodeRuntime
import Reasons
import Records
import Replication
import Storage
import Verification
package import Wire

/// `mirror --from PEER` and `assert`: makes the circle's records, or some of them, equal to those of one device.
package struct OverrideOperation: Sendable {
  /// The device whose state is taken; nil for this device.
  private let peer: DeviceKey?
  /// The name of the kind that the override is limited to; nil for all kinds.
  private let only: String?
  /// The name or id of the trip that the override is limited to; nil for all records.
  private let trip: String?
  private let isPreview: Bool
  private let isConfirmed: Bool

  /// - Parameters:
  ///   - peer: the device whose state is taken; nil for this device.
  ///   - only: limits the override to a kind, by name.
  ///   - trip: limits the override to a trip, by name or id.
  package init(from peer: DeviceKey?, only: String?, trip: String?, isPreview: Bool, isConfirmed: Bool) {
    self.peer = peer
    self.only = only
    self.trip = trip
    self.isPreview = isPreview
    self.isConfirmed = isConfirmed
  }

  /// - Parameter isPreview: whether to write nothing. If false, the operation counts as confirmed.
  package init(from peer: DeviceKey?, _ scope: OverrideScope, isPreview: Bool) {
    var (only, trip) = (String?.none, String?.none)
    switch scope {
    case .everything: break
    case .kind(let kind): only = kind.rawValue
    case .trip(let id): trip = id.description.lowercased()
    }
    self.init(from: peer, only: only, trip: trip, isPreview: isPreview, isConfirmed: !isPreview)
  }

  /// - Parameter progress: called on an arbitrary thread.
  package func run(
    on node: NodeCore, _ progress: @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> OverrideSummary {
    guard let peer else { return try await assertOwn(on: node, progress) }
    return try await mirror(try node.peer(named: peer.description), on: node, progress)
  }

  /// Replaces this device's state with the peer's.
  private func mirror(
    _ peer: Member, on node: NodeCore, _ progress: @Sendable (WorkProgress) -> Void
  ) async throws -> OverrideSummary {
    let scope = try scope(on: node)
    // Read the heads first, because changes that are written here while the command runs are not part of what the
    // person confirms.
    let present = node.store.heads(.records)
    try await checkReachable([peer], on: node)
    let theirs = try await answer(of: peer, on: node) { try await Inventory.of($0, asking: $1) }
    var preview = OverridePreview(verb: "mirror", peer: peer, scope: scope, node.store.schema)
    try preview.compare(
      from: try await Inventory.own(of: node), to: theirs, isHere: true, in: node.store)
    if let summary = try summaryBeforeWriting(&preview, on: node) { return summary }
    let backup = try await node.backUp(before: "mirror")
    let wanted = try await answer(of: peer, on: node) { try await PeerInquiry(peer: $0).recordHeads(on: $1) }
    try node.checkOpen()
    let direction = Revert(wanted: wanted, present: present, scope: scope.records)
    return try await carryOut(direction, &preview, backup, on: node, progress)
  }

  /// Replaces the circle's state with this device's.
  private func assertOwn(
    on node: NodeCore, _ progress: @Sendable (WorkProgress) -> Void
  ) async throws -> OverrideSummary {
    try node.checkPremium()
    let wanted = node.store.heads(.records)
    let scope = try scope(on: node)
    let others = node.circle.evaluation.members.values.filter { $0.device != node.identity.device }
      .sorted { ($0.name, $0.device) < ($1.name, $1.device) }
    let reachable = try await checkReachable(others, on: node)
    let inventory = try await Inventory.own(of: node)
    var preview = OverridePreview(verb: "assert", peer: nil, scope: scope, node.store.schema)
    let theirs = try await answers(of: reachable, on: node) {
      try await Inventory.of($0, asking: $1)
    }
    for (_, theirs) in theirs {
      try preview.compare(from: theirs, to: inventory, isHere: false, in: node.store)
    }
    preview.note(asked: theirs.map(\.peer), of: others)
    if let summary = try summaryBeforeWriting(&preview, on: node) { return summary }
    let backup = try await node.backUp(before: "assert")
    let heads = try await answers(of: preview.asked, on: node) {
      try await PeerInquiry(peer: $0).recordHeads(on: $1)
    }
    preview.note(asked: heads.map(\.peer), of: others)
    try node.checkOpen()
    var present = heads.flatMap(\.answer)
    // Changes that the peers have received from this device in the meantime are not the peers' own, so they are not
    // reverted.
    let own = LogKey(device: node.identity.device, incarnation: node.replicator.incarnation, lane: .records)
    present.removeAll { $0.log == own }
    let direction = Revert(wanted: wanted, present: present, scope: scope.records)
    return try await carryOut(direction, &preview, backup, on: node, progress)
  }

  // MARK: Scope

  /// The records to override, with the scope as typed.
  struct Scope {
    var records = Revert.Scope()
    var only: String?
    var trip: String?
  }

  private func scope(on node: NodeCore) throws -> Scope {
    var scope = Scope(only: only, trip: trip)
    if let only {
      guard let kind = node.store.schema.kind(named: only), kind.lane == .records else {
        throw WaymarkError.badValue(
          "--only", only,
          allowed:
            "expected one of \((node.store.schema.listed.map(\.name) + ["profile"]).joined(separator: ", "))"
        )
      }
      scope.records.kind = kind.number
    }
    if let trip {
      // A trip that only the peer has can still be given by its id.
      if let id = RecordText.id(trip) {
        scope.records.trip = RecordKey(kind: KindNumbers.trip, id: id)
      } else {
        scope.records.trip = try node.names.resolve(Kind.trip, trip).key
      }
    }
    return scope
  }

  // MARK: Asking peers

  /// Returns the peers that are connected and whose records lane is open on their side.
  ///
  /// - Throws: `WaymarkError` if there is no such peer, with exit code 4 if premium is missing, and otherwise 3.
  @discardableResult
  private func checkReachable(_ peers: [Member], on node: NodeCore) async throws -> [Member] {
    try node.checkPremium()
    guard node.isServing else { throw WaymarkError.notServing }
    try await PeerInquiry.waitForIntroductions(on: node)
    var reached: [Member] = []
    var failure = WaymarkError.noPeer
    for peer in peers {
      guard let code = node.replica.session(with: peer.device)?.theirs?.records.reason else {
        if peers.count == 1 { failure = .unreached(PeerInquiry(peer: peer.device).notReachable(on: node)) }
        continue
      }
      if code == .open {
        reached.append(peer)
      } else {
        failure = .closed(Reason(theirs: code), peer.name)
      }
    }
    guard !reached.isEmpty else { throw failure }
    return reached
  }

  /// Asks a peer. If the peer can't be reached any more, the error has exit code 3.
  private func answer<Result>(
    of peer: Member, on node: NodeCore, _ body: (DeviceKey, NodeCore) async throws -> Result
  ) async throws -> Result {
    do {
      return try await body(peer.device, node)
    } catch let failure as WaymarkError where failure.exitCode == ExitCode.failed {
      // If this node has closed, the peer did not cause the failure.
      try node.checkOpen()
      throw WaymarkError.unreached(failure)
    }
  }

  /// Asks several peers in turn. A peer that disconnects or turns sync off in the meantime is skipped.
  ///
  /// - Throws: the last failure, if no peer answers.
  private func answers<Result>(
    of peers: [Member], on node: NodeCore, _ body: (DeviceKey, NodeCore) async throws -> Result
  ) async throws -> [(peer: Member, answer: Result)] {
    var found: [(peer: Member, answer: Result)] = []
    var failure: WaymarkError?
    for peer in peers {
      do {
        found.append((peer, try await answer(of: peer, on: node, body)))
      } catch let left as WaymarkError
        where left.exitCode == ExitCode.notRunning && left.reason != .notComparable
      {
        failure = left
      }
    }
    if found.isEmpty, let failure { throw failure }
    return found
  }

  // MARK: Confirmation

  /// Returns the summary if nothing has to be written, because this is a preview or nothing differs; nil to continue.
  ///
  /// - Throws: `WaymarkError` with the code `needs_yes` if the operation is not confirmed.
  private func summaryBeforeWriting(
    _ preview: inout OverridePreview, on node: NodeCore
  ) throws -> OverrideSummary? {
    preview.turnsSyncOn = !node.replica.preference
    if isPreview { return preview.summary(isPreview: true) }
    if preview.changes.isEmpty, preview.unknown.isEmpty, !preview.turnsSyncOn,
      node.replicator.override.pending == nil
    {
      return preview.summary(isPreview: false)
    }
    guard isConfirmed else {
      throw WaymarkError.needsYes(preview.question, next: .waymark(preview.words + " --yes"))
    }
    return nil
  }

  private func carryOut(
    _ revert: Revert, _ preview: inout OverridePreview, _ backup: String, on node: NodeCore,
    _ progress: @Sendable (WorkProgress) -> Void
  ) async throws -> OverrideSummary {
    preview.turnsSyncOn = !node.replica.preference
    let confirmed = OverrideRequest(
      verb: preview.verb, operation: OperationID(random16()), peer: preview.peer?.device,
      asked: node.wall(), revert: revert)
    try Self.begin(confirmed, on: node)
    let outcome = try await Self.outcome(of: confirmed, on: node, progress)
    return preview.summary(isPreview: false, outcome: outcome, backup: backup)
  }

  /// Stores the confirmed request, and turns sync on, which the override requires.
  static func begin(_ request: OverrideRequest, on node: NodeCore) throws {
    try node.checkIncarnation()
    try node.maintenance.checkDisk()
    try node.maintenance.withRoom { try node.replicator.begin(request) }
    do {
      try node.setSync(true)
    } catch {
      try? node.replicator.dropOverride()
      throw error
    }
    node.loop.turn { $0.finishOverride(now: node.loop.time) }
  }

  /// Waits until the override has been carried out, for as long as missing change sets keep arriving.
  private static func outcome(
    of request: OverrideRequest, on node: NodeCore, _ progress: @Sendable (WorkProgress) -> Void
  ) async throws -> OverrideOutcome {
    let operation = request.operation
    let total = try node.replicator.missing(request)
    var least = total
    var stalled: Int64 = 0
    while node.replicator.override.pending?.operation == operation {
      _ = try await node.wait(milliseconds: Self.lookMilliseconds) {
        $0.replicator.override.pending?.operation != operation
      }
      guard node.replicator.override.pending?.operation == operation else { break }
      let left = try node.replicator.missing(request)
      stalled = left < least ? 0 : stalled + Self.lookMilliseconds
      least = min(left, least)
      progress(
        WorkProgress(
          stage: "receiving", done: Int(clamping: total - min(left, total)), total: Int(clamping: total)))
      guard stalled < Self.stallMilliseconds else { throw unfinished(request, left) }
    }
    guard let latest = node.replicator.override.latest, latest.operation == operation else {
      throw WaymarkError.failed(
        .givenUp,
        "The \(request.verb) was cancelled: sync was turned off, or another override replaced it.",
        next: .waymark("history"))
    }
    return try latest.result.mapError {
      if case ChangeSetError.beyondQuota(let lane) = $0 { return node.quotaUsed(lane) }
      return WaymarkError.failed(
        .override, "The difference could not be written: \($0). It will be retried.", next: .waymark("status")
      )
    }.get()
  }

  private static func unfinished(_ request: OverrideRequest, _ left: UInt64) -> WaymarkError {
    WaymarkError(
      exitCode: ExitCode.notInSync, code: .overrideWaiting,
      message:
        "The \(request.verb) is waiting for \(plural(Int(clamping: left), "missing change set")). It will be "
        + "carried out automatically once it has all it needs; until then, nothing is written.",
      next: "\(waymark: "status"); \(waymark: "sync off") cancels it")
  }

  private static let lookMilliseconds: Int64 = 500
  /// How long the command waits without progress before it gives up. The node keeps the request even then.
  private static let stallMilliseconds: Int64 = 10_000
}

extension WaymarkError {
  fileprivate static let noPeer = WaymarkError(
    exitCode: ExitCode.notRunning, code: .noPeer,
    message: "No other device is connected, so there is nothing to override.",
    next: "\(waymark: "peers"), then try again when one is connected")

  /// Returns the same failure with exit code 3, for a peer that can't be reached.
  fileprivate static func unreached(_ failure: WaymarkError) -> WaymarkError {
    WaymarkError(
      exitCode: ExitCode.notRunning, code: failure.reason, message: failure.message, next: failure.next)
  }

  fileprivate static func closed(_ reason: Reason, _ peer: String) -> WaymarkError {
    let needsPremium = [.peerFreeTier, .peerEntitlementExpired].contains(reason)
    return WaymarkError(
      exitCode: needsPremium ? ExitCode.needsPremium : ExitCode.notRunning, code: reason,
      message: "\(peer) can't take part: \(reason.sentence(peer: peer)).",
      next: reason == .peerSyncOff ? .waymark("sync on", on: peer) : reason.next(peer: peer))
  }
}
