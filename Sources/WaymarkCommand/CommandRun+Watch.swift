import Console
import Control
import Platform
import JSONDocument
import Waymark
import WaymarkCare

/// `status --watch` and `KIND list --watch`: redraw the answer in place on a terminal; otherwise print each change as a
/// line of JSON.
extension CommandRun {
  func watch() async throws -> Int32 {
    try await redraw(
      Watched(), look: look, frame: { frame($0, isLast: $1) }, news: { $0.news() },
      isRunning: { $0.isRunning })
  }

  /// Watches a list.
  func watchList() async throws -> Int32 {
    var listed = self
    listed.invocation.arguments["watch"] = nil
    let command = try listed.request(listed.invocation).command(as: ListRecords.self)
    return try await redraw(
      WatchedList(), look: { $0.answer = try await ControlClient.perform(command, home: home) },
      frame: { frame($0, command, isLast: $1) }, news: { $0.news(of: command) },
      isRunning: { _ in ControlClient.isRunning(home) })
  }

  /// - Parameters:
  ///   - look: reads the state again.
  ///   - frame: returns the lines of the state; the second argument is true for the last frame, which stays.
  ///   - news: returns the line that is printed without a terminal; nil if there is no change.
  private func redraw<State>(
    _ state: State, look: (inout State) async throws -> Void, frame: (State, Bool) -> [String],
    news: (inout State) -> String?, isRunning: (State) -> Bool
  ) async throws -> Int32 {
    let isShown = terminal.output.isTerminal && !invocation.options.json
    let screen = try Screen(
      terminal, isShown: isShown && invocation.arguments(as: WatchArguments.self).ndjson == nil)
    let signals = WatchSignals(screen)
    defer { screen.leave() }
    var (state, hasLooked, failures) = (state, false, 0)
    while true {
      do {
        try await look(&state)
        (hasLooked, failures) = (true, 0)
      } catch let failure as WaymarkError
        where [.hungUp, .storeHeld].contains(failure.reason) && failures < Self.failuresMax
        && (hasLooked || failure.reason == .hungUp)
      {
        // The node is starting or stopping. The last state stays on screen until the node answers again.
        failures += 1
      } catch {
        screen.leave()
        throw error
      }
      let trace = StoreTrace(home)
      var drawn = ContinuousClock.now
      if screen.isShown {
        screen.draw(frame(state, false))
      } else if let line = news(&state) {
        terminal.data(line)
      }
      // Never sleeps for long at a time, because Ctrl-C and a resized window need a quick response.
      let began = ContinuousClock.now
      // Without a running node, a read opens the store and locks other processes out. So the state is read only after
      // the store's files have changed, or the last read has failed. Until then the last state is redrawn, with its
      // ages updated.
      while ContinuousClock.now - began < (isRunning(state) || failures > 0 ? .seconds(1) : .seconds(600)) {
        guard !signals.isEnded else {
          screen.leave()
          if screen.isShown { terminal.raw(frame(state, true).joined(separator: "\n") + "\n") }
          return ExitCode.interrupted
        }
        let isResized = signals.takeResize()
        if isRunning(state), isResized { break }
        if !isRunning(state), ControlClient.isRunning(home) || StoreTrace(home) != trace { break }
        if isResized || ContinuousClock.now - drawn > .seconds(10), screen.isShown {
          screen.draw(frame(state, false))
          drawn = .now
        }
        try await Task.sleep(for: .milliseconds(100))
      }
    }
  }

  private func frame(_ watched: WatchedList, _ command: ListRecords, isLast: Bool) -> [String] {
    guard let answer = watched.answer else { return [] }
    let size = Terminal.size(of: terminal.output.descriptor)
    var rendering = Rendering(
      width: size.columns, hasColor: terminal.output.hasColor, notesWidth: size.columns,
      notesHaveColor: false,
      time: TimeText(now: systemWall()))
    command.render(answer, into: &rendering)
    let lines = rendering.data.lines + rendering.notes.lines
    return isLast ? lines : Self.cut(lines, to: size.rows)
  }

  private func look(_ watched: inout Watched) async throws {
    let status = try await ControlClient.perform(ShowStatus(), home: home)
    let history = try await ControlClient.perform(
      ShowHistory(limit: "\(Self.operationsShown)"), home: home)
    watched.take(status, history.operations)
  }

  private func frame(_ watched: Watched, isLast: Bool = false) -> [String] {
    let size = Terminal.size(of: terminal.output.descriptor)
    func lines(_ isShort: Bool) -> [String] {
      var rendering = Rendering(
        width: size.columns, hasColor: terminal.output.hasColor, notesWidth: size.columns,
        notesHaveColor: false,
        time: TimeText(now: systemWall()))
      rendering.watch(watched, isShort: isShort)
      return rendering.data.lines
    }
    let whole = lines(false)
    return isLast || whole.count <= size.rows ? whole : Self.cut(lines(true), to: size.rows)
  }

  /// Returns only as many lines as fit. The short form of the status begins with the header and anything that needs
  /// attention, so these are never cut off.
  static func cut(_ lines: [String], to rows: Int) -> [String] {
    guard lines.count > rows else { return lines }
    return lines.prefix(rows - 1) + ["… and \(lines.count - rows + 1) more lines: enlarge the window"]
  }

  static let operationsShown = 5

  /// How many times in a row a node that is starting or stopping may not answer.
  private static let failuresMax = 20
}

/// Sizes and modification times of the store's files. They reveal a write without opening the store.
private struct StoreTrace: Hashable {
  private struct Mark: Hashable {
    let size: Int?
    let changed: Date?
  }

  private let marks: [Mark]

  init(_ home: Home) {
    marks = [home.store, home.store + "-wal", home.settings].map { path in
      let found = try? FileManager.default.attributesOfItem(atPath: path)
      return Mark(size: found?[.size] as? Int, changed: found?[.modificationDate] as? Date)
    }
  }
}

/// The last answer of `KIND list --watch`.
private struct WatchedList {
  var answer: ListRecords.Answer?
  private var printed: JSON = .null

  /// Returns the list as a line of JSON; nil if it has not changed since the last line.
  mutating func news(of command: ListRecords) -> String? {
    guard let answer, let json = try? command.document(answer, home: nil), json != printed else { return nil }
    printed = json
    return JSON.object([.init("type", "list")] + (json.members ?? [])).text(.line)
  }
}

/// The data that `status --watch` has collected: the last status, and the largest size of each backlog.
struct Watched {
  private(set) var status: NodeStatus?
  private(set) var operations: [History.Operation] = []
  /// For each peer and direction, the largest backlog in change sets since it was last empty, and when it began.
  private(set) var peaks: [Way: (count: Int, since: ContinuousClock.Instant)] = [:]
  private var printed: JSON = .null

  var isRunning: Bool { status?.isServing == true }

  /// Whether this device lacks change sets that the peer has (`behind`), or the reverse (`ahead`).
  enum Direction: CaseIterable { case behind, ahead }

  struct Way: Hashable {
    let device: DeviceKey
    let direction: Direction
  }

  mutating func take(
    _ status: NodeStatus, _ operations: [History.Operation], at now: ContinuousClock.Instant = .now
  ) {
    self.status = status
    self.operations = operations
    for peer in status.peers {
      for direction in Direction.allCases {
        let way = Way(device: peer.device, direction: direction)
        let count = peer.count(direction)
        if count == 0 {
          peaks[way] = nil
        } else if count > peaks[way]?.count ?? 0 {
          peaks[way] = (count, peaks[way]?.since ?? now)
        }
      }
    }
  }

  /// Returns how much of a backlog is done, its size in change sets, and when it began; nil if there is no backlog.
  func catchUp(_ peer: Peer, _ direction: Direction, at now: ContinuousClock.Instant = .now)
    -> (done: Int64, total: Int64, seconds: Double)?
  {
    let count = peer.count(direction)
    guard count > 0, let peak = peaks[Way(device: peer.device, direction: direction)] else { return nil }
    return (Int64(peak.count - count), Int64(peak.count), (now - peak.since) / .seconds(1))
  }

  /// Returns the status as a line of JSON; nil if only times have changed since the last line.
  mutating func news() -> String? {
    guard let status, let json = try? AnswerCoding.document(status) else { return nil }
    let lasting = Self.lasting(json)
    guard lasting != printed else { return nil }
    printed = lasting
    let head = [JSON.Member("type", "status"), JSON.Member("schema", "waymark.status/1")]
    return JSON.object(head + (json.members ?? [])).text(.line)
  }

  private static func lasting(_ json: JSON) -> JSON {
    switch json {
    case .object(let members):
      .object(
        members.filter { !passing.contains($0.key) }.map { JSON.Member($0.key, lasting($0.value)) })
    case .array(let items): .array(items.map(lasting))
    default: json
    }
  }

  private static let passing: Set<String> = {
    let times = ["since", "lastSync", "lastSeen", "asOf"]
    return Set(times + times.map { "\($0)UTC" } + ["roundTripMilliseconds", "clockSkewMilliseconds"])
  }()
}

extension Peer {
  fileprivate func count(_ direction: Watched.Direction) -> Int {
    (direction == .behind ? behind : ahead) ?? 0
  }
}
