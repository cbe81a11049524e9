// Protocol/merge.md, "Forced direction"

import Engine
import JSONDocument
import Membership
import Records
import Replication
import Storage
import Wire

/// `mirror --from PEER` and `assert`: make the circle's records those of one device, as far as asked for.
extension Node {
  /// This device's state becomes the peer's.
  func mirror(
    _ request: CommandRequest, _ events: @Sendable (JSON) -> Void
  ) async throws -> JSON {
    let peer = try peer(named: request.required("from", "--from and a peer"))
    let scope = try scope(request)
    // What is written here while the command is under way is not what the person saw.
    let present = store.heads(.records)
    try await checkReachable([peer])
    let theirs = try await answer(of: peer) { try await Inventory.of($1, asking: $0) }
    var preview = DirectionPreview(verb: "mirror", peer: peer, scope: scope)
    try add(from: try await Inventory.own(of: self), to: theirs, isHere: true, &preview)
    if let answer = try answer(request, preview) { return answer }
    let backup = try await backUp(before: "mirror")
    let wanted = try await answer(of: peer) { try await $0.heads(of: $1, .records) }
    try checkOpen()
    let direction = Direction(wanted: wanted, present: present, scope: scope.records)
    return try await carryOut(request, direction, preview, backup, events)
  }

  /// The circle's state becomes this device's.
  func assertState(
    _ request: CommandRequest, _ events: @Sendable (JSON) -> Void
  ) async throws -> JSON {
    try checkPremium()
    let wanted = store.heads(.records)
    let scope = try scope(request)
    let others = circle.evaluation.members.values.filter { $0.device != identity.device }
      .sorted { ($0.name, $0.device) < ($1.name, $1.device) }
    let reachable = try await checkReachable(others)
    let inventory = try await Inventory.own(of: self)
    var preview = DirectionPreview(verb: "assert", peer: nil, scope: scope)
    let theirs = try await answers(of: reachable) { try await Inventory.of($1, asking: $0) }
    for (_, theirs) in theirs { try add(from: theirs, to: inventory, isHere: false, &preview) }
    preview.note(asked: theirs.map(\.peer), of: others)
    if let answer = try answer(request, preview) { return answer }
    let backup = try await backUp(before: "assert")
    let heads = try await answers(of: preview.asked) { try await $0.heads(of: $1, .records) }
    preview.note(asked: heads.map(\.peer), of: others)
    try checkOpen()
    var present = heads.flatMap(\.answer)
    // What the peers have heard from here meanwhile is this device's own.
    let own = LogKey(device: identity.device, incarnation: incarnation, lane: .records)
    present.removeAll { $0.log == own }
    let direction = Direction(wanted: wanted, present: present, scope: scope.records)
    return try await carryOut(request, direction, preview, backup, events)
  }

  // MARK: What was typed

  private func scope(_ request: CommandRequest) throws -> DirectionPreview.Scope {
    var scope = DirectionPreview.Scope()
    if let name = request.text("only") {
      guard let kind = Registry.kind(named: name), kind.lane == .records, kind != Registry.content else {
        throw WaymarkError.badValue(
          "--only", name,
          allowed: "it is one of \((Registry.listed.map(\.name) + ["profile"]).joined(separator: ", "))"
        )
      }
      scope.records.kind = kind.number
      scope.only = name
    }
    if let name = request.text("trip") {
      scope.trip = name
      // A trip that only the peer has can be named by its id.
      if let id = RecordText.id(name) {
        scope.records.trip = RecordKey(kind: KindNumbers.trip, id: id)
      } else {
        scope.records.trip = try names.resolve(Registry.trip, name).key
      }
    }
    return scope
  }

  // MARK: Who can be asked

  /// Those of the peers that are connected and whose records lane is open, or would be if this device's were.
  ///
  /// - Throws: if there is none: exit 4 where premium is lacking, else exit 3.
  @discardableResult
  private func checkReachable(_ peers: [Member]) async throws -> [Member] {
    try checkPremium()
    guard network != nil else { throw WaymarkError.notServing }
    try await waitForIntroductions()
    var reached: [Member] = []
    var failure = WaymarkError.noPeer
    for peer in peers {
      guard let code = replica.session(with: peer.device)?.theirs?.records.reason else {
        if peers.count == 1 { failure = .unreached(notReachable(peer.device)) }
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

  /// What a peer says when it is asked; that it can't be asked any more ends with exit code 3.
  private func answer<Result>(
    of peer: Member, _ body: (isolated Node, DeviceKey) async throws -> Result
  ) async throws -> Result {
    do {
      return try await body(self, peer.device)
    } catch let failure as WaymarkError where failure.exitCode == ExitCode.failed {
      // That this node has closed says nothing of the peer.
      try checkOpen()
      throw WaymarkError.unreached(failure)
    }
  }

  /// What those of several peers say that are still there when it is their turn: one that leaves or turns sync off
  /// meanwhile is as if it had not been there.
  ///
  /// - Throws: why the last one did not answer, if none does.
  private func answers<Result>(
    of peers: [Member], _ body: (isolated Node, DeviceKey) async throws -> Result
  ) async throws -> [(peer: Member, answer: Result)] {
    var found: [(peer: Member, answer: Result)] = []
    var failure: WaymarkError?
    for peer in peers {
      do {
        found.append((peer, try await answer(of: peer, body)))
      } catch let left as WaymarkError
        where left.exitCode == ExitCode.notRunning && left.code != .notComparable
      {
        failure = left
      }
    }
    if found.isEmpty, let failure { throw failure }
    return found
  }

  // MARK: What would change

  /// Notes what changes where one inventory becomes another.
  private func add(
    from: Inventory, to: Inventory, isHere: Bool, _ preview: inout DirectionPreview
  ) throws {
    let scope = preview.scope.records
    for key in Set(from.items.keys).union(to.items.keys) where scope.kind.map({ $0 == key.kind }) ?? true {
      let change: DirectionPreview.Change
      switch (from.items[key], to.items[key]) {
      case (nil, _?):
        // Whether another device has it in its trash, only that device knows.
        change = try isHere && store.record(key)?.life == false ? .restored : .added
      case (_?, nil): change = .deleted
      case (let before, let after): if before == after { continue } else { change = .changed }
      }
      if try scope.trip.map({ try store.isUnder($0, key) }) ?? true {
        preview.add(key, change)
      } else if Registry.kind(key.kind)?.parent != nil, try store.record(key) == nil {
        preview.unknown.insert(key)
      }
    }
  }

  // MARK: Yes and no

  /// The answer, where nothing is to be done now: a preview was asked for, nothing differs, or a yes is missing.
  private func answer(_ request: CommandRequest, _ preview: DirectionPreview) throws -> JSON? {
    var preview = preview
    preview.turnsSyncOn = !replica.preference
    if request.flag("preview") { return preview.document(request, isPreview: true) }
    if preview.changes.isEmpty, preview.unknown.isEmpty, !preview.turnsSyncOn,
      replicator.override.pending == nil
    {
      return preview.document(request, isPreview: false)
    }
    guard request.flag("yes") else {
      throw WaymarkError.needsYes(preview.question, next: Step(preview.command + " --yes"))
    }
    return nil
  }

  private func carryOut(
    _ request: CommandRequest, _ direction: Direction, _ preview: DirectionPreview, _ backup: String,
    _ events: @Sendable (JSON) -> Void
  ) async throws -> JSON {
    var preview = preview
    preview.turnsSyncOn = !replica.preference
    let confirmed = OverrideRequest(
      verb: preview.verb, operation: OperationID(random16()), peer: preview.peer?.device, asked: wall(),
      direction: direction)
    try begin(confirmed)
    let outcome = try await outcome(of: confirmed, events)
    return preview.document(request, isPreview: false, outcome: outcome, backup: backup)
  }

  /// Waits until the override is carried out, as long as what it needs keeps coming.
  private func outcome(
    of request: OverrideRequest, _ events: @Sendable (JSON) -> Void
  ) async throws -> OverrideOutcome {
    let operation = request.operation
    let total = try replicator.missing(request)
    var least = total
    var stalled: Int64 = 0
    while replicator.override.pending?.operation == operation {
      _ = try await wait(milliseconds: Self.lookMilliseconds) {
        $0.replicator.override.pending?.operation != operation
      }
      guard replicator.override.pending?.operation == operation else { break }
      let left = try replicator.missing(request)
      stalled = left < least ? 0 : stalled + Self.lookMilliseconds
      least = min(left, least)
      events([
        "type": "progress", "stage": "receiving", "done": .integer(Int64(clamping: total - min(left, total))),
        "total": .integer(Int64(clamping: total)),
      ])
      guard stalled < Self.stallMilliseconds else { throw unfinished(request, left) }
    }
    guard let latest = replicator.override.latest, latest.operation == operation else {
      throw WaymarkError.failed(
        .givenUp,
        "The \(request.verb) was given up: sync was turned off, or another direction took its place.",
        next: .waymark("history"))
    }
    return try latest.result.mapError {
      WaymarkError.failed(
        .direction, "The difference could not be written: \($0). It is tried again.", next: .waymark("status")
      )
    }.get()
  }

  private func unfinished(_ request: OverrideRequest, _ left: UInt64) -> WaymarkError {
    WaymarkError(
      exitCode: ExitCode.notInSync, code: Reason.directionWaiting,
      message:
        "\(plural(Int(clamping: left), "change set")) that the \(request.verb) needs did not come. It is "
        + "carried out by itself as soon as they are here; until then nothing of it is written.",
      next: "\(waymark: "status"); \(waymark: "sync off") gives it up")
  }

  private static let lookMilliseconds: Int64 = 500
  /// How long nothing may come before the command gives up waiting; the node does not.
  private static let stallMilliseconds: Int64 = 10_000
}

extension WaymarkError {
  fileprivate static let noPeer = WaymarkError(
    exitCode: ExitCode.notRunning, code: .noPeer,
    message: "No other device is connected, so there is nothing to set right on any.",
    next: "\(waymark: "peers"), and again when one is there")

  /// A peer that is not there: what needs it ends with exit code 3.
  fileprivate static func unreached(_ failure: WaymarkError) -> WaymarkError {
    WaymarkError(
      exitCode: ExitCode.notRunning, code: failure.code, message: failure.message, next: failure.next)
  }

  fileprivate static func closed(_ reason: Reason, _ peer: String) -> WaymarkError {
    let needsPremium = [.peerFreeTier, .peerEntitlementExpired].contains(reason)
    return WaymarkError(
      exitCode: needsPremium ? ExitCode.needsPremium : ExitCode.notRunning, code: reason,
      message: "\(peer) can't take part: \(reason.sentence(peer: peer)).",
      next: reason == .peerSyncOff ? .waymark("sync on", on: peer) : reason.next(peer: peer))
  }
}
