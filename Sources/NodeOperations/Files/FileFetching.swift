import Engine
import FileFormat
import Home
import Model
import NodeRuntime
import Reasons
import Replication
import Storage
import Wire

/// A person's wait for one file: asks for it, reports how it arrives, and gives up when there is no hope.
struct FileFetching {
  let file: FileReference
  /// The name under which the person knows the file.
  let name: String

  /// How long to wait for a device to connect, in milliseconds.
  private static let connectMilliseconds: Moment = 10_000
  /// How long to wait after the connected devices have said that they do not have the file.
  private static let refusedMilliseconds: Moment = 3_000
  /// How long to wait for the next part of the file.
  private static let stalledMilliseconds: Moment = 30_000
  /// The interval at which the wait looks for these ends.
  private static let lookMilliseconds: Int64 = 500

  /// - Throws: `WaymarkError`, or `CancellationError`.
  func run(on node: NodeCore, tell: @escaping @Sendable (FileState) -> Void) async throws {
    try check(node)
    node.hurry()
    node.loop.turn { $0.ask(for: file, now: node.loop.time) }
    defer { node.replicator.stopAsking(for: file, now: node.loop.time) }
    var (received, movedAt, hopefulAt) = (-1, node.loop.steady, node.loop.steady)
    while true {
      let state = try FileContents(node).fileState(of: file)
      if state.isHere { return }
      guard !node.replicator.hasFailed(file) else { throw diskFull }
      // Nothing names it any more, for example because its record was erased meanwhile.
      guard node.replica.isWanted(file) else { throw unavailable(state, node) }
      let now = node.loop.steady
      if node.replica.mayArrive(file) { hopefulAt = now }
      if bytes(state) != received {
        (received, movedAt) = (bytes(state), now)
        tell(state)
      }
      try check(node)
      let grace = node.replica.sessions.isEmpty ? Self.connectMilliseconds : Self.refusedMilliseconds
      if now - hopefulAt >= grace { throw unavailable(state, node) }
      if now - movedAt >= Self.stalledMilliseconds { throw stalled(state) }
      // Progress is reported in steps of a hundredth, because each report takes a line to the client.
      let next = max(received, 0) + max(file.size / 100, 1)
      let file = file
      _ = try await node.wait(milliseconds: Self.lookMilliseconds) { node in
        !node.replica.isWanted(file) || (node.replica.progress(of: file)?.bytes ?? 0) >= next
      }
      try Task.checkCancellation()
    }
  }

  private func bytes(_ state: FileState) -> Int {
    if case .partly(let received, _, _) = state { received } else { 0 }
  }

  // MARK: Errors

  /// Checks that files can arrive at all.
  private func check(_ node: NodeCore) throws {
    try node.checkOpen()
    guard node.isServing else {
      throw WaymarkError(
        exitCode: ExitCode.notRunning, code: .noContent,
        message:
          "“\(shortened(name))” is not on this device, and the node is not running, so it can't be fetched.",
        next: "\(waymark: "run"), then try again")
    }
    let sync = node.inspection().syncState
    guard sync.isActive else {
      throw WaymarkError.failed(
        .noContent,
        "“\(shortened(name))” is not on this device, and files are not exchanged: \(sync.text ?? "records don't sync").",
        next: sync.next ?? .waymark("status"))
    }
  }

  private func unavailable(_ state: FileState, _ node: NodeCore) -> WaymarkError {
    let devices: [DeviceReference] =
      switch state {
      case .partly(_, _, let devices), .elsewhere(let devices): devices
      case .here, .nowhere: []
      }
    let names = devices.map(\.name)
    let known =
      names.isEmpty
      ? "no other device is known to have it" : "it was last seen on \(names.joined(separator: " and "))"
    return WaymarkError.failed(
      .noContent,
      "“\(shortened(name))” is not on this device, and no connected device has it; \(known).",
      next: names.first.map { Step.waymark("run", on: $0) } ?? .waymark("peers"))
  }

  private func stalled(_ state: FileState) -> WaymarkError {
    WaymarkError.failed(
      .noContent,
      "“\(shortened(name))” has stopped arriving: nothing came for \(Self.stalledMilliseconds / 1_000) seconds. "
        + "What has arrived is kept.", next: "\(waymark: "peers"), then try again")
  }

  private var diskFull: WaymarkError {
    WaymarkError.failed(
      .diskFull, "There is not enough room on the disk for \(shortened(name)).",
      next: "free some disk space, then try again")
  }
}
