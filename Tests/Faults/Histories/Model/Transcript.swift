// A transcript is a text in which people use the devices of a circle, with what each device answered:
//
//     # What happens here.
//     ! circle alice bob
//     $ alice trip.add name=Rome startDate=2026-05-03
//       { … }
//     ! settle
//
// The runner performs the lines that begin with `$` or `!` in a simulation, where nothing depends on the machine or on
// chance, and writes the text again with the present answers, which are indented. Ids and keys are numbered in the order
// in which they first appear, so that a transcript changes only where an answer does. A `$` line has the name of a
// command and its arguments: a field as `name=value`, an argument as `name:value`, a flag as `name!`, and the id without
// a name. What the command tells before its answer is in parentheses.
//
// A second passes before each command, so that no two writes have the same time, and each `!` line ends at the next minute.
// So no answer depends on the order of tasks and on delays that are drawn at random: it is the same with every seed.

import Control
import Enrolment
import Foundation
import JSONDocument
import Reasons
import Synchronization
import Waymark
import WaymarkCare
import WaymarkTesting
import Wire

/// Performs the lines of a transcript, and writes their answers.
package struct Transcript {
  private let clock: VirtualClock
  private var circle: TestCircle?
  private let folder: URL
  private var names = ShownNames()
  private var lines: [String] = []

  /// Returns a transcript with the answers that the devices give now.
  ///
  /// - Parameter seed: decides the order of tasks, and ids and keys.
  /// - Throws: `TranscriptError` for a line that can't be performed.
  package static func renewed(_ text: String, seed: UInt64) async throws -> String {
    SeededRandomness.begin(seed)
    let (lines, _) = try await SimulatedScheduler.run(seed: seed) { scheduler in
      var transcript = Transcript(VirtualClock(on: scheduler))
      return try await transcript.perform(text)
    }
    return lines.map { $0 + "\n" }.joined()
  }

  private init(_ clock: VirtualClock) {
    self.clock = clock
    folder = FileManager.default.temporaryDirectory.appending(path: "transcript-\(UUID().uuidString)")
  }

  private mutating func perform(_ text: String) async throws -> [String] {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var old = text.split(separator: "\n", omittingEmptySubsequences: false)
    if old.last?.isEmpty == true { old.removeLast() }
    for (index, line) in old.enumerated() where !line.hasPrefix("  ") {
      lines.append(String(line))
      do {
        switch line.prefix(2) {
        case "$ ":
          try await pass(1, of: 1)
          try await answer(words(of: line.dropFirst(2)))
        case "! ":
          try await act(words(of: line.dropFirst(2)))
          try await pass(60, of: 60)
        default: break
        }
      } catch {
        throw TranscriptError("line \(index + 1), “\(line)”: \(error)")
      }
    }
    await circle?.close()
    return lines
  }

  /// The words of a line. Quotation marks keep one together.
  private func words(of line: Substring) throws -> [String] {
    var (words, word, isQuoted, isBegun) = ([String](), "", false, false)
    for character in line {
      switch character {
      case "'": (isQuoted, isBegun) = (!isQuoted, true)
      case " " where !isQuoted:
        if isBegun { words.append(word) }
        (word, isBegun) = ("", false)
      default:
        word.append(character)
        isBegun = true
      }
    }
    guard !isQuoted else { throw TranscriptError("a quotation mark is missing") }
    return isBegun ? words + [word] : words
  }

  // MARK: Commands

  private mutating func answer(_ words: [String]) async throws {
    guard words.count >= 2 else { throw TranscriptError("a device and a command are needed") }
    let circle = try known(), node = try node(words[0])
    let request = ControlRequest(command: words[1], arguments: try arguments(words.dropFirst(2)))
    let events = Mutex<[CommandEvent]>([])
    let call = CommandCall(tell: { event in events.withLock { $0.append(event) } })
    let answer = try await circle.during { await node.answer(to: request, call) }
    for event in events.withLock(\.self) {
      lines.append("  (\(names.shown(try AnswerCoding.encode(event)).text()))")
    }
    switch answer {
    case .success(let document): show(document, hiding: Self.hiding[words[1]] ?? [])
    case .failure(let error): show(try AnswerCoding.encode(error))
    }
  }

  private mutating func show(_ body: () async throws -> some Encodable) async throws {
    do {
      show(try AnswerCoding.encode(try await body()))
    } catch let error as WaymarkError {
      show(try AnswerCoding.encode(error))
    }
  }

  private func arguments(_ words: ArraySlice<String>) throws -> JSON {
    var members = [JSON.Member("zone", "Europe/Rome")]
    var fields: [JSON] = []
    for word in words.map({ names.actual($0).replacing("DIR/", with: folder.path + "/") }) {
      if word.hasSuffix("!") {
        members.append(JSON.Member(String(word.dropLast()), true))
      } else if let mark = word.firstIndex(where: { $0 == "=" || $0 == ":" }) {
        let (name, value) = (String(word[..<mark]), String(word[word.index(after: mark)...]))
        if word[mark] == "=" {
          fields.append([.string(name), .string(value)])
        } else {
          members.append(JSON.Member(name, try argument(value)))
        }
      } else {
        members.append(JSON.Member("id", .string(word)))
      }
    }
    return .object(members + (fields.isEmpty ? [] : [JSON.Member("fields", .array(fields))]))
  }

  /// A list in brackets, a number after `#`, or a text.
  private func argument(_ text: String) throws -> JSON {
    if text.hasPrefix("["), text.hasSuffix("]") {
      return .array(text.dropFirst().dropLast().split(separator: ",").map { .string(String($0)) })
    }
    guard text.hasPrefix("#") else { return .string(text) }
    guard let number = Int64(text.dropFirst()) else { throw TranscriptError("no number: \(text)") }
    return .integer(number)
  }

  /// Sizes that depend on the version of SQLite or on milliseconds.
  private static let hiding: [String: Set<String>] = [
    WriteBackup.name: ["bytes"], ExportRecords.name: ["bytes"],
  ]

  private mutating func show(_ document: JSON, hiding hidden: Set<String> = []) {
    for member in names.shown(document).members ?? [] where !hidden.contains(member.key) {
      guard let items = member.value.array, items.contains(where: { $0.members != nil }) else {
        lines.append("  \(member.key): \(member.value.text())")
        continue
      }
      lines.append("  \(member.key):")
      lines += items.map { "  - \($0.text())" }
    }
  }

  // MARK: The world

  /// Advances the clock by some seconds, from the last multiple of a unit.
  private func pass(_ seconds: Double, of unit: Double) async throws {
    let whole = (clock.now.timeIntervalSince1970 / unit).rounded(.down) * unit
    try await clock.advance(to: Date(timeIntervalSince1970: whole + seconds))
  }

  private func known() throws -> TestCircle {
    guard let circle else { throw TranscriptError("there is no circle yet") }
    return circle
  }

  private func node(_ name: String) throws -> Node {
    let circle = try known()
    guard circle.names.contains(name) else { throw TranscriptError("there is no device \(name)") }
    return circle[name]
  }

  private mutating func act(_ words: [String]) async throws {
    switch (words[0], Array(words.dropFirst())) {
    case ("circle", let words):
      let seconds = words.first.flatMap { Double($0) }
      try await found(
        seconds == nil ? words : Array(words.dropFirst()), isSyncing: true,
        until: seconds.map { clock.now.addingTimeInterval($0) })
    case ("free", let devices): try await found(devices, isSyncing: false)
    case ("settle", []): try await known().settle()
    case ("advance", let spans) where spans.count == 1:
      guard let seconds = Double(spans[0]) else { throw TranscriptError("no number of seconds: \(spans[0])") }
      try await pass(seconds, of: 1)
    case ("connect", let pair) where pair.count == 2: try await known().connect(pair[0], pair[1])
    case ("disconnect", let pair) where pair.count == 2: try await known().disconnect(pair[0], pair[1])
    case ("add", let devices) where devices.count == 1:
      try await known().add(devices[0])
      try hide(devices[0])
    case ("restart", let devices) where devices.count == 1: try await known().reopen(devices[0])
    case ("restore", let words) where words.count >= 2:
      try await restore(words[0], from: folder.appending(path: words[1]), Set(words.dropFirst(2)))
    case ("readmit", let pair) where pair.count == 2: try await readmit(pair[0], withRootKeyOf: pair[1])
    case ("damage", let parts) where parts.count == 3:
      try await damage(parts[0], asHeldBy: parts[1], parts[2])
    case ("fill", let parts) where parts.count == 2:
      guard let count = Int(parts[1]) else { throw TranscriptError("no number of bytes: \(parts[1])") }
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 24) }
      try Data(bytes).write(to: folder.appending(path: parts[0]))
    case ("write", let parts) where parts.count == 2:
      try Data(parts[1].replacing("\\n", with: "\n").utf8).write(to: folder.appending(path: parts[0]))
    case ("read", let files) where files.count == 1:
      let text = try String(contentsOf: folder.appending(path: files[0]), encoding: .utf8)
      for line in text.split(whereSeparator: \.isNewline) { lines.append("  \(names.shown(String(line)))") }
    case ("folder", let folders) where folders.count == 1:
      let path = folder.appending(path: folders[0]).path
      for name in try FileManager.default.contentsOfDirectory(atPath: path).sorted() {
        lines.append("  \(names.shown(name))")
      }
    default: throw TranscriptError("unknown action")
    }
  }

  /// Founds a circle whose devices are connected; with premium, and sync on, or without.
  private mutating func found(_ devices: [String], isSyncing: Bool, until end: Date? = nil) async throws {
    circle = try await TestCircle(
      names: devices, premium: isSyncing ? .everyone : .nobody, until: end, isSyncing: isSyncing,
      storage: .directories, clock: clock)
    names.hide(folder.path, as: "DIR")
    for device in devices { try hide(device) }
  }

  // MARK: A device that is stopped

  private mutating func restore(_ device: String, from file: URL, _ options: Set<String>) async throws {
    let (circle, home, clock) = (try known(), try node(device).home, clock)
    await circle.close(device)
    var request = RestoreOperation.Request(file: file.path(percentEncoded: false), name: device)
    request.foundsCircle = options.contains("new-circle")
    let operation = RestoreOperation(home: home, request: request) { clock.wall() }
    try await show {
      options.contains("preview")
        ? try await operation.preview() : try await operation.restore(isConfirmed: options.contains("yes"))
    }
    try await circle.reopen(device)
  }

  private mutating func readmit(_ device: String, withRootKeyOf admin: String) async throws {
    let (circle, home, clock) = (try known(), try node(device).home, clock)
    let readmission = Readmission(
      home: home, name: nil, hostName: device, rootKey: try node(admin).home.rootKey
    ) { clock.wall() }
    await circle.close(device)
    try await show { JoinCircle.Answer(readmitted: try await readmission.join()) }
    try await circle.reopen(device)
  }

  /// Alters a bit of a file, or of a column of the first change set, that another device has too.
  private func damage(_ device: String, asHeldBy other: String, _ part: String) async throws {
    let (circle, disk) = (
      try known(), DamagedDisk(store: try node(device).home.store, peer: try node(other).home.store)
    )
    await circle.close(device)
    let isDamaged = part == "file" ? try disk.alterFile(0) : try disk.alter(part, 0, forgettingTables: false)
    guard isDamaged else { throw TranscriptError("there is nothing to damage") }
    try await circle.reopen(device)
  }

  private mutating func hide(_ device: String) throws {
    names.hide(try node(device).home.path, as: "HOME-OF-\(device)")
  }
}

/// A line of a transcript that can't be performed.
struct TranscriptError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// The ids and keys of a transcript, and the names that stand for them.
private struct ShownNames {
  private var numbers: [String: Int] = [:]
  private var ids: [String] = []
  private var folders: [(path: String, name: String)] = []

  /// Members that differ from version to version or from machine to machine.
  private static let hidden: Set<String> = ["version", "shortId"]
  /// Members that follow from the order of tasks and from delays that are drawn at random: which of two devices
  /// connects to the other, and when a peer was heard last.
  private static let random: Set<String> = [
    "address", "addressSource", "asOf", "clockSkewMilliseconds", "lastSeen", "lastSync",
    "roundTripMilliseconds", "since",
  ]

  private let id = /[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|\b(?:[0-9a-f]{16,}|[0-9a-f]{8})\b/
  private let ticket = /\bwaymark1[0-9a-z]{20,}/
  private let milliseconds = /(:\d\d)\.\d{1,3}(?=[Z+\-])/
  private let lastSync = /(last in sync with [^:]+: )[-\d]+ [:\d]+ UTC/
  private let port = /(\]:)49\d\d\d\b/

  mutating func hide(_ path: String, as name: String) { folders.append((path, name)) }

  mutating func shown(_ document: JSON) -> JSON {
    switch document {
    case .string(let text): .string(shown(text))
    case .array(let items): .array(sorted(items.map { shown($0) }))
    case .object(let members):
      .object(
        members.map { member in
          JSON.Member(shown(member.key), isHidden(member, in: document) ? "…" : shown(member.value))
        })
    default: document
    }
  }

  private func isHidden(_ member: JSON.Member, in document: JSON) -> Bool {
    if Self.hidden.contains(member.key) { return member.value != .null }
    // Why the last attempt to connect to an address failed.
    if document["saved"] == false { return member.key == "reason" }
    return document["saved"] == nil && Self.random.contains(member.key) && document["addressSource"] != nil
      || member.key == "asOf" || member.key == "lastSeen"
  }

  /// Sorts ids, whose order in an answer follows from the ids themselves.
  private func sorted(_ items: [JSON]) -> [JSON] {
    let texts = items.compactMap(\.string)
    guard texts.count == items.count, texts.allSatisfy({ $0.hasPrefix("‹") }) else { return items }
    return texts.sorted().map { .string($0) }
  }

  mutating func shown(_ text: String) -> String {
    var text = text
    for folder in folders { text = text.replacing(folder.path, with: folder.name) }
    text = text.replacing(ticket, with: "‹a ticket›")
    text = text.replacing(milliseconds) { $0.output.1 }.replacing(port) { "\($0.output.1)‹a port›" }
      .replacing(lastSync) { "\($0.output.1)…" }
    var result = ""
    var rest = text[...]
    while let match = rest.firstMatch(of: id) {
      result += rest[..<match.range.lowerBound] + shown(id: String(match.output))
      rest = rest[match.range.upperBound...]
    }
    return result + rest
  }

  /// The name of an id, or of one that is known and begins like this.
  private mutating func shown(id: String) -> String {
    guard id.count == 8 else { return "‹\(number(of: id))›" }
    return ids.firstIndex { $0.hasPrefix(id) }.map { "‹\($0 + 1)…›" } ?? id
  }

  private mutating func number(of id: String) -> Int {
    if let number = numbers[id] { return number }
    ids.append(id)
    numbers[id] = ids.count
    return ids.count
  }

  /// The text with the ids that the names in it stand for.
  func actual(_ text: String) -> String {
    text.replacing(/‹(\d+)›/) { match in
      Int(match.output.1).flatMap { ids.indices.contains($0 - 1) ? ids[$0 - 1] : nil }
        ?? String(match.output.0)
    }
  }
}
