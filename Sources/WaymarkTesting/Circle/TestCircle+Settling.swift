import Replication
import Waymark
import Wire

// Waiting until devices have had all of each other, and seeing that they have.

extension TestCircle {
  /// Waits until every two devices that can reach each other are connected, hold the same statements, and are in sync
  /// on the lanes that are open between them. Moves the clock where only time brings that about: a retry, a pause
  /// before others are told.
  ///
  /// Devices that are closed, paused or out of the circle are not waited for.
  ///
  /// - Parameter duration: how far the clock may be moved.
  /// - Throws: ``TestGroundError`` that says who waits for what, if that is not enough, or takes more than half a
  ///   minute of real time.
  public func settle(atMost duration: Duration = .seconds(600)) async throws {
    let limit = WaitLimit()
    let end = clock.passed + duration.wholeMilliseconds
    while true {
      try await clock.quiet(limit)
      guard let trouble = try await unsettled() else { return }
      guard !limit.isOver else {
        throw TestGroundError(description: "not settled after \(limit): \(trouble)")
      }
      guard try await clock.advanceToNext(by: end) else {
        throw TestGroundError(
          description: "not settled after \(duration) of the circle's time: \(trouble)")
      }
    }
  }

  /// Does something that asks other devices or waits for them, and moves the clock until it is done.
  ///
  /// A call such as `turnSyncOn()` or `syncPreview()` asks every peer and waits
  /// for its answer, by the circle's time. On a clock that stands still it would wait forever.
  ///
  /// ```swift
  /// let preview = try await circle.during { try await circle["phone"].syncPreview() }
  /// ```
  ///
  /// - Parameters:
  ///   - duration: how far the clock may be moved.
  ///   - body: what to do; it must not move the clock.
  /// - Returns: what `body` returns.
  /// - Throws: what `body` throws, and ``TestGroundError`` if it takes more than half a minute of real time.
  public func during<Outcome: Sendable>(
    atMost duration: Duration = .seconds(600), _ body: @escaping @Sendable () async throws -> Outcome
  ) async throws -> Outcome {
    let limit = WaitLimit()
    let end = clock.passed + duration.wholeMilliseconds
    let running = UnderWay()
    running.begin()
    let work = Task {
      defer { running.end() }
      return try await body()
    }
    while running.count > 0 {
      try await clock.quiet(limit)
      // The body may have been answered, and be about to ask the next question.
      for _ in 0..<Self.turnsOfBody where running.count > 0 { await Task.yield() }
      guard running.count > 0, clock.isQuiet else { continue }
      if try await clock.advanceToNext(by: end) { continue }
      guard await running.over(by: limit.end) != nil else {
        work.cancel()
        throw TestGroundError(description: "not done after \(limit), and \(duration) of the circle's time")
      }
    }
    return try await work.value
  }

  private static let turnsOfBody = 20

  /// Throws unless the devices hold the same: settings on all of them, records on those that sync records.
  ///
  /// - Parameter names: the devices to compare; all that are open if there is none.
  /// - Throws: ``TestGroundError`` that names what differs: the records, and their fields.
  public func assertConverged(_ names: String...) async throws {
    let diagnostics = try await diagnostics(names.isEmpty ? self.names : names)
    for lane in Lane.allCases {
      let holders = diagnostics.filter { $0.diagnostics[lane].isOpen }
      guard let first = holders.first else { continue }
      for other in holders.dropFirst() where other.diagnostics[lane].digest != first.diagnostics[lane].digest {
        throw TestGroundError(description: try await difference(lane, first.name, other.name))
      }
    }
  }

  // MARK: Looking

  private func diagnostics(_ names: [String]) async throws -> [(name: String, diagnostics: NodeDiagnostics)] {
    var diagnostics: [(String, NodeDiagnostics)] = []
    for name in names {
      // A closed node holds nothing any more.
      if let diagnostics = try? await NodeDiagnostics(of: self[name]), diagnostics.isServing {
        diagnostics.append((name, diagnostics))
      }
    }
    return diagnostics
  }

  /// What is not done yet between two devices that can reach each other; nil if there is nothing.
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
      !there.paused.contains(here.device), here.members.contains(there.device),
      there.members.contains(here.device), here.members.contains(here.device),
      there.members.contains(there.device)
    else { return nil }
    guard let mine = here.sessions[there.device], let theirs = there.sessions[here.device] else {
      let standing = here.peerStates[there.device] ?? there.peerStates[here.device] ?? "offline"
      return "\(names) are not connected: \(standing)"
    }
    guard here.statements == there.statements else { return "\(names) hold other certificates" }
    guard mine.isRecordsOpen == theirs.isRecordsOpen,
      mine.isRecordsOpen || !(here.records.isOpen && there.records.isOpen) || mine.isUnproven
        || theirs.isUnproven
    else { return "the records lane between \(names) is about to open or close" }
    for lane in Lane.allCases where lane == .settings || mine.isRecordsOpen {
      guard here[lane].heads == there[lane].heads, here[lane].digest == there[lane].digest else {
        return "\(lane) differ between \(names): \(here[lane].changeSets) and \(there[lane].changeSets) "
          + "change sets; \(one.name) finds \(other.name) \(here.peerStates[there.device] ?? "gone")"
      }
    }
    guard mine.isInSync, theirs.isInSync else { return "\(names) have not compared all they hold" }
    return nil
  }

  private func difference(_ lane: Lane, _ one: String, _ other: String) async throws -> String {
    let here = try await NodeDiagnostics.content(of: self[one], lane)
    let there = try await NodeDiagnostics.content(of: self[other], lane)
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
      ? ["nothing that is visible"] : lines.prefix(Self.linesMax) + (rest > 0 ? ["and \(rest) more"] : [])
    return "\(lane) differ between \(one) and \(other):\n" + found.map { "  \($0)" }.joined(separator: "\n")
  }

  private static let linesMax = 20
}

// MARK: The network

extension TestCircle {
  /// Cuts the way between two devices: their connection breaks off, and no other comes about.
  public func disconnect(_ one: String, _ other: String) async {
    network.cut(pair(one, other), true)
  }

  /// Opens the way between two devices again; they dial at once.
  public func connect(_ one: String, _ other: String) async {
    network.cut(pair(one, other), false)
    for name in [one, other] { await self[name].hurry() }
  }

  /// Cuts the circle into parts whose devices reach only each other.
  ///
  /// ```swift
  /// await circle.partition(["alice", "bob"], ["carol"])
  /// ```
  ///
  /// - Parameter parts: devices that none of them names are a part of their own, together.
  public func partition(_ parts: [String]...) async {
    let rest = names.filter { name in !parts.contains { $0.contains(name) } }
    let all = parts + (rest.isEmpty ? [] : [rest])
    for (index, one) in names.enumerated() {
      for other in names.dropFirst(index + 1) {
        let together = all.contains { $0.contains(one) && $0.contains(other) }
        network.cut(pair(one, other), !together)
      }
    }
    for node in nodes { await node.hurry() }
  }

  /// Opens the ways between all devices; they dial at once.
  public func heal() async {
    for (index, one) in names.enumerated() {
      for other in names.dropFirst(index + 1) { network.cut(pair(one, other), false) }
    }
    for node in nodes { await node.hurry() }
  }

  private func pair(_ one: String, _ other: String) -> InMemoryNetwork.Pair {
    precondition(one != other, "\(one) is always connected with itself")
    return InMemoryNetwork.Pair(device(one).machine, device(other).machine)
  }
}
