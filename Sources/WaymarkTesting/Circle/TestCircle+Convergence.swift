import Membership
import Replication
import Waymark
import WaymarkCare
import Wire

// Waits until devices have converged, asserts that they have, and controls the network between them.

extension TestCircle {
  /// Waits until all devices that can reach each other are connected, hold the same statements, and are in sync on the
  /// lanes that are open between them. Advances the clock when progress depends on a timer, such as a retry.
  ///
  /// Does not wait for closed, paused or revoked devices.
  ///
  /// - Parameter duration: the maximum time by which to advance the clock.
  /// - Throws: ``TestSetupError``, which names what is missing, if the devices have not settled within `duration` of
  ///   virtual time or 120 seconds of real time.
  public func settle(atMost duration: Duration = .seconds(600)) async throws {
    let limit = WaitLimit()
    let end = clock.passed + duration.wholeMilliseconds
    while true {
      try await clock.quiet(limit)
      guard let trouble = try await unsettled() else { return }
      guard !limit.isOver else {
        throw TestSetupError(description: "not settled after \(limit): \(trouble)")
      }
      guard try await clock.advanceToNext(by: end) else {
        throw TestSetupError(
          description: "not settled after \(duration) of virtual time: \(trouble)")
      }
    }
  }

  /// Runs an operation that waits for other devices, and advances the clock until it returns.
  ///
  /// A call such as `turnSyncOn()` or `syncPreview()` asks every peer and waits for the answers. Its timeouts are in
  /// virtual time, so if a peer did not answer, the call would wait forever unless the clock advanced.
  ///
  /// ```swift
  /// let preview = try await circle.during { try await circle["phone"].syncPreview() }
  /// ```
  ///
  /// - Parameters:
  ///   - duration: the maximum time by which to advance the clock.
  ///   - body: the operation, which must not advance the clock itself.
  /// - Returns: the result of `body`.
  /// - Throws: any error that `body` throws; ``TestSetupError`` if `body` takes more than 120 seconds of real time.
  public func during<Outcome: Sendable>(
    atMost duration: Duration = .seconds(600), _ body: @escaping @Sendable () async throws -> Outcome
  ) async throws -> Outcome {
    let limit = WaitLimit()
    let end = clock.passed + duration.wholeMilliseconds
    let running = UnderWay()
    running.begin()
    let work = Task(executorPreference: clock.scheduler) {
      defer { running.end() }
      return try await body()
    }
    while running.count > 0 {
      try await clock.quiet(limit)
      // `body` may have just received an answer and be about to send its next request, so let it run first.
      for _ in 0..<Self.turnsOfBody where running.count > 0 { await Task.yield() }
      guard running.count > 0, clock.isQuiet else { continue }
      if try await clock.advanceToNext(by: end) { continue }
      guard clock.scheduler == nil, await running.over(by: limit.end) != nil else {
        work.cancel()
        throw TestSetupError(
          description: "not done after \(limit) of real time and \(duration) of virtual time")
      }
    }
    return try await work.value
  }

  private static let turnsOfBody = 20

  /// Throws an error unless the devices hold the same data: settings on all of them, and records on those that sync
  /// records.
  ///
  /// - Parameter names: the names of the devices to compare; all open devices if there are none.
  /// - Throws: ``TestSetupError``, which lists the records and fields that differ.
  public func assertConverged(_ names: String...) async throws {
    let diagnostics = try await diagnostics(names.isEmpty ? self.names : names)
    for lane in Lane.allCases {
      let holders = diagnostics.filter { $0.diagnostics[lane].isOpen }
      guard let first = holders.first else { continue }
      for other in holders.dropFirst() where other.diagnostics[lane].digest != first.diagnostics[lane].digest
      {
        throw TestSetupError(description: try await difference(lane, first.name, other.name))
      }
    }
  }

  // MARK: Comparing

  private func diagnostics(_ names: [String]) async throws -> [(name: String, diagnostics: NodeDiagnostics)] {
    var found: [(String, NodeDiagnostics)] = []
    for name in names {
      // A closed node has no diagnostics, so it is skipped.
      if let diagnostics = try? await self[name].withCore({ try NodeDiagnostics(of: $0) }),
        diagnostics.isServing
      {
        found.append((name, diagnostics))
      }
    }
    return found
  }

  /// Returns the first reason found why two devices that can reach each other have not settled; nil if all have.
  private func unsettled() async throws -> String? {
    let diagnostics = try await diagnostics(names)
    for (index, one) in diagnostics.enumerated() {
      for other in diagnostics.dropFirst(index + 1) {
        if let trouble = unsettled(one, other) { return trouble }
      }
    }
    return nil
  }

  private func unsettled(
    _ one: (name: String, diagnostics: NodeDiagnostics), _ other: (name: String, diagnostics: NodeDiagnostics)
  ) -> String? {
    let (here, there) = (one.diagnostics, other.diagnostics)
    let names = "\(one.name) and \(other.name)"
    guard !network.isCut(pair(one.name, other.name)), !here.paused.contains(there.device),
      !there.paused.contains(here.device), here.evaluation.isMember(here.device),
      there.evaluation.isMember(there.device)
    else { return nil }
    switch (here.evaluation.isMember(there.device), there.evaluation.isMember(here.device)) {
    case (true, true): break
    // A device that has joined shows its certificate to the others when they connect.
    case (true, false) where !there.evaluation.hasCertificate(here.device),
      (false, true) where !here.evaluation.hasCertificate(there.device):
      return "\(names) are not connected, and one of them does not know yet that the other one is a member"
    default: return nil
    }
    guard let mine = here.sessions[there.device], let theirs = there.sessions[here.device] else {
      let state = here.peerStates[there.device] ?? there.peerStates[here.device] ?? "offline"
      return "\(names) are not connected: \(state)"
    }
    guard here.statements == there.statements else { return "\(names) hold different statements" }
    guard mine.isRecordsOpen == theirs.isRecordsOpen,
      mine.isRecordsOpen || !(here.records.isOpen && there.records.isOpen) || mine.isUnproven
        || theirs.isUnproven
    else { return "the records lane between \(names) is about to open or close" }
    for lane in Lane.allCases where lane == .settings || mine.isRecordsOpen {
      guard here[lane].heads == there[lane].heads, here[lane].digest == there[lane].digest else {
        return "\(lane) differ between \(names): \(here[lane].changeSets) and \(there[lane].changeSets) "
          + "change sets; the state of \(other.name) on \(one.name) is \(here.peerStates[there.device] ?? "unknown")"
      }
    }
    guard mine.isInSync, theirs.isInSync else { return "\(names) have not finished comparing their state" }
    return nil
  }

  private func difference(_ lane: Lane, _ one: String, _ other: String) async throws -> String {
    let here = try await self[one].withCore { try NodeDiagnostics.content(of: $0, lane) }
    let there = try await self[other].withCore { try NodeDiagnostics.content(of: $0, lane) }
    var lines: [String] = []
    for key in Set(here.keys).union(there.keys).sorted() {
      switch (here[key], there[key]) {
      case (let mine?, let theirs?):
        for field in Set(mine.keys).union(theirs.keys).sorted() where mine[field] != theirs[field] {
          lines.append(
            "\(key): \(field) is \(mine[field] ?? "empty") on \(one), \(theirs[field] ?? "empty") on \(other)"
          )
        }
      case (_?, nil): lines.append("\(key) is only on \(one)")
      default: lines.append("\(key) is only on \(other)")
      }
    }
    let rest = lines.count - Self.linesMax
    let found =
      lines.isEmpty
      ? ["no visible record or field"] : lines.prefix(Self.linesMax) + (rest > 0 ? ["and \(rest) more"] : [])
    return "\(lane) differ between \(one) and \(other):\n" + found.map { "  \($0)" }.joined(separator: "\n")
  }

  private static let linesMax = 20
}

// MARK: The network

extension TestCircle {
  /// Disconnects two devices: breaks their connection and prevents new ones.
  public func disconnect(_ one: String, _ other: String) async {
    network.cut(pair(one, other), true)
  }

  /// Allows connections between two devices again, and makes both dial at once.
  public func connect(_ one: String, _ other: String) async {
    network.cut(pair(one, other), false)
    for name in [one, other] { await self[name].withCore { $0.hurry() } }
  }

  /// Partitions the circle so that each device can reach only the devices in its own part.
  ///
  /// ```swift
  /// await circle.partition(["alice", "bob"], ["carol"])
  /// ```
  ///
  /// - Parameter parts: the names of the devices in each part; all devices that are not named form one more part.
  public func partition(_ parts: [String]...) async {
    let rest = names.filter { name in !parts.contains { $0.contains(name) } }
    let all = parts + (rest.isEmpty ? [] : [rest])
    for (index, one) in names.enumerated() {
      for other in names.dropFirst(index + 1) {
        let together = all.contains { $0.contains(one) && $0.contains(other) }
        network.cut(pair(one, other), !together)
      }
    }
    for node in nodes { await node.withCore { $0.hurry() } }
  }

  /// Allows connections between all devices again, and makes all of them dial at once.
  public func heal() async {
    for (index, one) in names.enumerated() {
      for other in names.dropFirst(index + 1) { network.cut(pair(one, other), false) }
    }
    for node in nodes { await node.withCore { $0.hurry() } }
  }

  /// Cuts a device off at once, as when its machine stops, until ``plugIn(_:)``. Callable in the middle of other work.
  package func unplug(_ name: String) { network.stop(device(name).machine, true) }

  /// Lets a device reach the others again.
  package func plugIn(_ name: String) { network.stop(device(name).machine, false) }

  /// Breaks all connections, which the devices then make again.
  package func breakConnections() { network.breakConnections() }

  private func pair(_ one: String, _ other: String) -> InMemoryNetwork.Pair {
    precondition(one != other, "a connection needs two different devices: \(one) was named twice")
    return InMemoryNetwork.Pair(device(one).machine, device(other).machine)
  }
}
