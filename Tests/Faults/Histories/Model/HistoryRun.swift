// A history runs on real nodes and on the model at the same time.
//
//     step ──▶ node     the call that an app would make          ──▶ what the node shows ─┐
//         └──▶ model    who wrote what, and what the author held ──▶ what it should show ─┴▶ equal?
//
// Between steps all devices are apart, except two that may stay connected. Devices exchange changes only when they meet, or
// at the end of each step of one that is connected, and the step ends when they are in sync. So the model knows exactly what
// each author had seen. The clock advances after each step, so a later operation always has a higher stamp.
//
// The answers of the device that acted are compared after each step, those of all devices when they meet and at the end:
// visible records, the trash, conflicts with their sides, settings, the profile, searches and counts. At the end, all
// devices meet, and then each checks its store against its signed log, starts again, and another circle imports its export.
// A backup is restored in an empty home, and must show the same there.

import Foundation
import JSONDocument
import Reasons
import Synchronization
import Waymark
import WaymarkCare
import WaymarkFiles
import WaymarkKinds
import WaymarkTesting
import Wire

/// A difference between a node and the model.
package struct HistoryFailure: Error, CustomStringConvertible {
  /// The position of the step in its history; nil for a difference at the end.
  package let step: Int?
  package let text: String

  package var description: String { (step.map { "step \($0): " } ?? "at the end: ") + text }

  /// Whether another failure is of the same kind: it differs in nothing that this one does not differ in too, whichever
  /// step found it, and whatever the records are called.
  func includes(_ other: HistoryFailure) -> Bool { other.differences.isSubset(of: differences) }

  /// The beginnings of the text's lines, up to a name or a number and without the action of the step.
  private var differences: Set<Substring> {
    let start = step.flatMap { _ in text.range(of: ": ")?.upperBound } ?? text.startIndex
    return Set(text[start...].split(separator: "\n").map { $0.prefix { $0 != "“" && !$0.isNumber } })
  }
}

/// What a history came to.
package struct Outcome: Sendable {
  /// The first difference from the model.
  package let failure: HistoryFailure?
  /// What the steps did until then, for people.
  package let journal: [String]
  /// What a simulation ran in which order, as a hash; nil without a simulation.
  package fileprivate(set) var trace: String?
}

/// A circle of nodes that live through a history, next to the model.
package struct HistoryRun {
  static let names = ["alice", "bob", "carol", "dave"]
  static let words = ["Rome", "Oslo", "night train", "Lisbon", "rom", "Ünal"]

  let circle: TestCircle
  var model: HistoryModel
  /// The ids of the model's records.
  var ids: [UUID] = [Profile.only.uuid]
  /// The names of the model's settings, by their records.
  var settings: [String: Int] = [:]
  /// The ids of the model's operations; nil for an operation that the library does not name.
  var operations: [OperationID?] = []
  var devices: [DeviceKey] = []
  /// The devices of all keys, those that were revoked included.
  var keys: [DeviceKey: Int] = [:]
  /// When premium ends, according to the entitlements that each device has.
  var premiumEnds: [Date]
  var isSyncing: [Bool]
  /// A copy of a record that a device's app has read and not saved yet.
  var copies: [Int: Copy] = [:]
  /// The files that were exported, as they are and as the model describes them.
  var files: [(document: JSON, file: HistoryModel.File)] = []
  var backups: [Backup] = []
  /// The devices that stay connected until the next ones meet, and exchange each step at once.
  var connected: [Int] = []
  /// A folder for backups.
  let folder: URL
  /// The ids of new records.
  var random: HistoryRandom
  /// What each step did, for people.
  package private(set) var journal: [String] = []

  private init(_ count: Int, _ clock: VirtualClock, seed: UInt64) async throws {
    random = HistoryRandom(seed)
    let names = Self.names.prefix(count)
    let premiumEnd = clock.now.addingTimeInterval(Self.premiumSeconds)
    circle = try await TestCircle(
      names: Array(names), until: premiumEnd, storage: .directories, clock: clock)
    premiumEnds = Array(repeating: premiumEnd, count: count)
    model = HistoryModel(devices: count)
    isSyncing = Array(repeating: true, count: count)
    folder = FileManager.default.temporaryDirectory.appending(path: "histories-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (index, name) in names.enumerated() {
      devices.append(try await circle[name].status().device)
      keys[devices[index]] = index
    }
    await partition([])
  }

  /// Runs a history on the machine's threads, or in a simulation.
  ///
  /// - Parameter seed: decides the order of all work in a simulation; nil for none.
  package static func run(_ steps: [HistoryStep], devices: Int, seed: UInt64? = nil) async throws -> Outcome {
    guard let seed else { return try await run(steps, devices, VirtualClock(), seed: 0) }
    if isFirst.exchange(false, ordering: .relaxed) {
      // What is created once in a process, in part with random bytes, exists afterwards.
      let everything = HistoryStep.Action.allCases.map {
        HistoryStep(action: $0, device: 1, choices: [1, 1, 1, 1])
      }
      _ = try await run(everything, devices: 2, seed: 0)
    }
    SeededRandomness.begin(seed)
    var (outcome, trace) = try await SimulatedScheduler.run(seed: seed) { scheduler in
      try await run(steps, devices, VirtualClock(on: scheduler), seed: seed)
    }
    outcome.trace = "\(trace)"
    return outcome
  }

  private static let isFirst = Atomic(true)

  private static func run(
    _ steps: [HistoryStep], _ devices: Int, _ clock: VirtualClock, seed: UInt64
  ) async throws -> Outcome {
    var run = try await HistoryRun(devices, clock, seed: seed)
    var failure: HistoryFailure?
    do {
      for (index, step) in steps.enumerated() {
        do { try await run.perform(step) } catch {
          throw HistoryFailure(step: index, text: "\(step.action.rawValue): \(error)")
        }
      }
      do { try await run.end() } catch { throw HistoryFailure(step: nil, text: "\(error)") }
    } catch let difference as HistoryFailure { failure = difference }
    await run.circle.close()
    try FileManager.default.removeItem(at: run.folder)
    return Outcome(failure: failure, journal: run.journal)
  }

  func node(_ device: Int) -> Node { circle[Self.names[device]] }

  /// Lets only the given devices reach each other.
  func partition(_ together: [Int]) async {
    let pairs = devices.indices.flatMap { one in devices.indices.filter { one < $0 }.map { (one, $0) } }
    let isTogether = { (pair: (Int, Int)) in together.contains(pair.0) && together.contains(pair.1) }
    // Nothing passes on what it gets to a device that it is about to leave.
    for pair in pairs where !isTogether(pair) {
      await circle.disconnect(Self.names[pair.0], Self.names[pair.1])
    }
    for pair in pairs where isTogether(pair) {
      await circle.connect(Self.names[pair.0], Self.names[pair.1])
    }
  }

  // MARK: Steps

  mutating func perform(_ step: HistoryStep) async throws {
    let device = step.action == .renew ? 0 : step.device % devices.count
    try await passEnds()
    let name = Self.names[device]
    var text = try await act(device, step)
    // A device that has nothing to do it to gets a record instead, so that few steps do nothing.
    let isWithoutRecords = text == nil && [.edit, .move, .copy, .delete, .attach].contains(step.action)
    if isWithoutRecords { text = try await create(device, step.choices) }
    journal.append("\(name) \(text ?? "\(step.action.rawValue): nothing")")
    try await circle.clock.advance(by: .milliseconds(10))
    model.freeFiles(device)
    if connected.contains(device) { try await settle(connected) }
    try await check(device)
  }

  /// Does what a step says. Returns nil if there is nothing to do it to.
  mutating func act(_ device: Int, _ step: HistoryStep) async throws -> String? {
    switch step.action {
    case .create: return try await create(device, step.choices)
    case .edit: return try await edit(device, step.choices)
    case .move: return try await move(device, step.choices)
    case .copy: return try await copy(device, step.choices)
    case .delete: return try await delete(device, step.choices)
    case .restore: return try await restore(device, step.choices)
    case .erase: return try await erase(device, step.choices)
    case .undo: return try await undo(device, step.choices)
    case .resolve: return try await resolve(device, step.choices)
    case .setting: return try await set(device, step.choices)
    case .profile: return try await profile(device, step.choices)
    case .attach: return try await attach(device, step.choices)
    case .eraseData: return try await eraseData(device, step.choices)
    case .export: return try await export(device)
    case .import: return try await importFile(device, step.choices)
    case .backup: return try await backUp(device)
    case .restoreBackup: return try await restoreBackup(device, step.choices)
    case .override: return try await override(device, step.choices)
    case .connect: return try await connect(device, step.choices)
    case .meet: return try await meet(device, step.choices)
    case .sync: return try await sync(device)
    case .reopen:
      try await circle.reopen(Self.names[device])
      return "opens its node again"
    case .readmit: return try await readmit(device)
    case .renew: return try await renew()
    case .damage: return try await damage(device, step.choices)
    case .stopInCommand: return try await stopInCommand(device, step.choices)
    case .stopInExchange: return try await stopInExchange(device, step.choices)
    case .wait:
      try await circle.clock.sleep(for: .seconds(3_600 * (1 + step.choices[0] % 48)))
      return nil
    }
  }

  /// Returns the item that a choice means; nil if there is none.
  func pick<Items: RandomAccessCollection>(_ items: Items, _ choice: Int) -> Items.Element? {
    items.isEmpty ? nil : items[items.index(items.startIndex, offsetBy: choice % items.count)]
  }

  func word(_ choice: Int) -> String { Self.words[choice % Self.words.count] }

  /// A word, or an empty text.
  func optionalWord(_ choice: Int) -> String { choice % 4 == 0 ? "" : word(choice / 4) }

  func content(_ text: String) -> HistoryModel.Content { text.isEmpty ? .null : .text(text) }

  func known(_ kinds: [HistoryModel.Kind], _ device: Int) -> [Int] {
    kinds.flatMap { model.records($0, device) }.sorted()
  }

  static let kinds: [HistoryModel.Kind] = [.trip, .lodging, .attachment, .habit]

  func visible(_ kinds: [HistoryModel.Kind], _ device: Int) -> [Int] {
    known(kinds, device).filter { model.isVisible($0, device) }
  }

  mutating func write(
    _ device: Int, _ writes: [HistoryModel.Cell: HistoryModel.Content], as id: OperationID?,
    erased: Set<Int> = [], undone: Int? = nil, time: Int? = nil
  ) {
    model.write(device, writes, erased: erased, undone: undone, time: time)
    operations.append(id)
  }

  /// Expects a call to be refused.
  func expectRefusal(_ code: WaymarkError.Code?, _ call: () async throws -> Void) async throws {
    do { try await call() } catch let error as WaymarkError {
      if let code, error.code != code {
        throw Difference("expected the error \(code), got \(error.code): \(error)")
      }
      return
    }
    throw Difference("expected a refusal\(code.map { " with \($0)" } ?? "")")
  }

  func shown(_ record: Int) -> String { "\(model.kinds[record]) \(record)" }

  mutating func create(_ device: Int, _ choices: [Int]) async throws -> String? {
    let (name, notes) = (word(choices[1]), optionalWord(choices[2]))
    let trip = pick(visible([.trip], device), choices[3])
    let kinds: [HistoryModel.Kind] = trip == nil ? [.trip, .habit] : [.trip, .lodging, .lodging, .habit]
    let kind = kinds[choices[0] % kinds.count]
    let record = model.addRecord(kind)
    let id = random.uuid()
    ids.append(id)
    var changes = Changes()
    var writes: [HistoryModel.Cell: HistoryModel.Content] = [
      .init(record: record, field: .life): .flag(true), .init(record: record, field: .name): .text(name),
    ]
    // A lodging has no field that only its creation writes.
    if kind != .lodging { writes[.init(record: record, field: .rest)] = .flag(true) }
    if !notes.isEmpty { writes[.init(record: record, field: .notes)] = .text(notes) }
    switch kind {
    case .trip: changes.save(Trip(name: name, notes: notes, id: .init(id)))
    case .lodging:
      let trip = trip ?? 0
      var lodging = Lodging(name: name, tripID: .init(ids[trip]), id: .init(id))
      lodging.notes = notes
      changes.save(lodging)
      writes[.init(record: record, field: .parent)] = .record(trip)
    default:
      var habit = Habit(name: name, id: .init(id))
      habit.notes = notes
      changes.save(habit)
    }
    write(device, writes, as: try await apply(changes, device))
    return "creates \(shown(record)) “\(name)”\(kind == .lodging ? " in \(trip ?? 0)" : "")"
  }

  func apply(_ changes: Changes, _ device: Int) async throws -> OperationID? {
    try await node(device).change { $0 = changes }
  }

  mutating func edit(_ device: Int, _ choices: [Int]) async throws -> String? {
    guard let record = pick(known(Self.kinds, device), choices[0]) else { return nil }
    let name = choices[1] % 3 == 0 ? nil : word(choices[2])
    let notes = choices[1] % 3 == 1 ? nil : optionalWord(choices[3])
    let changes = changes(record, name: name, notes: notes)
    guard model.isVisible(record, device) else {
      try await expectRefusal(.notFound) { _ = try await apply(changes, device) }
      return "can't edit \(shown(record))"
    }
    let wanted = [HistoryModel.Field.name: name.map(content), .notes: notes.map(content)]
    var writes: [HistoryModel.Cell: HistoryModel.Content] = [:]
    for (field, content) in wanted {
      let cell = HistoryModel.Cell(record: record, field: field)
      if let content, content != model.shown(cell, device) { writes[cell] = content }
    }
    let id = try await apply(changes, device)
    guard (id != nil) == !writes.isEmpty else {
      throw Difference("the edit wrote \(id == nil ? "nothing" : "something")")
    }
    if !writes.isEmpty { write(device, writes, as: id) }
    return
      "edits \(shown(record)): \(name.map { "name “\($0)” " } ?? "")\(notes.map { "notes “\($0)”" } ?? "")"
  }

  func changes(_ record: Int, name: String?, notes: String?) -> Changes {
    var changes = Changes()
    switch model.kinds[record] {
    case .trip:
      changes.update(Trip.ID(ids[record])) {
        if let name { $0.name = name }
        if let notes { $0.notes = notes }
      }
    case .lodging:
      changes.update(Lodging.ID(ids[record])) {
        if let name { $0.name = name }
        if let notes { $0.notes = notes }
      }
    case .attachment:
      changes.update(Attachment.ID(ids[record])) {
        if let name { $0.fileName = name }
        if let notes { $0.fileDescription = notes }
      }
    default:
      changes.update(Habit.ID(ids[record])) {
        if let name { $0.name = name }
        if let notes { $0.notes = notes }
      }
    }
    return changes
  }

  mutating func move(_ device: Int, _ choices: [Int]) async throws -> String? {
    guard let lodging = pick(visible([.lodging], device), choices[0]),
      let trip = pick(visible([.trip], device), choices[1]), model.parent(of: lodging, device) != trip
    else { return nil }
    let target = Trip.ID(ids[trip])
    var changes = Changes()
    changes.update(Lodging.ID(ids[lodging])) { $0.tripID = target }
    write(
      device, [.init(record: lodging, field: .parent): .record(trip)], as: try await apply(changes, device))
    return "moves \(shown(lodging)) to \(shown(trip))"
  }

  struct Copy {
    let record: Int
    let value: any Record
    let origin: [HistoryModel.Field: HistoryModel.Content]
  }

  /// Reads a record, or edits and saves the copy that was read before, however the record has changed since.
  mutating func copy(_ device: Int, _ choices: [Int]) async throws -> String? {
    guard let copy = copies.removeValue(forKey: device) else {
      guard let record = pick(visible(Self.kinds, device), choices[0]) else { return nil }
      let node = node(device)
      let value: (any Record)? =
        switch model.kinds[record] {
        case .trip: try await node.record(Trip.ID(ids[record]))
        case .lodging: try await node.record(Lodging.ID(ids[record]))
        case .attachment: try await node.record(Attachment.ID(ids[record]))
        default: try await node.record(Habit.ID(ids[record]))
        }
      guard let value else { throw Difference("\(shown(record)) can't be read") }
      let fields: [HistoryModel.Field] = [.name, .notes]
      let origin = fields.map { ($0, model.shown(.init(record: record, field: $0), device)) }
      copies[device] = Copy(
        record: record, value: value, origin: Dictionary(uniqueKeysWithValues: origin))
      return "reads \(shown(record))"
    }
    let record = copy.record
    let (name, notes) = (word(choices[1]), optionalWord(choices[2]))
    var changes = Changes()
    if var trip = copy.value as? Trip {
      (trip.name, trip.notes) = (name, notes)
      changes.save(trip)
    } else if var lodging = copy.value as? Lodging {
      (lodging.name, lodging.notes) = (name, notes)
      changes.save(lodging)
    } else if var attachment = copy.value as? Attachment {
      (attachment.fileName, attachment.fileDescription) = (name, notes)
      changes.save(attachment)
    } else if var habit = copy.value as? Habit {
      (habit.name, habit.notes) = (name, notes)
      changes.save(habit)
    }
    if model.isGone(record, device) {
      try await expectRefusal(.erased) { _ = try await apply(changes, device) }
      return "can't save the copy of \(shown(record)), which was erased"
    }
    var writes: [HistoryModel.Cell: HistoryModel.Content] = [:]
    for (field, content) in [HistoryModel.Field.name: content(name), .notes: content(notes)] {
      let cell = HistoryModel.Cell(record: record, field: field)
      if content != copy.origin[field], content != model.shown(cell, device) { writes[cell] = content }
    }
    if !model.isAlive(record, device) { writes[.init(record: record, field: .life)] = .flag(true) }
    let id = try await apply(changes, device)
    guard (id != nil) == !writes.isEmpty else {
      throw Difference("saving the copy wrote \(id == nil ? "nothing" : "something")")
    }
    if !writes.isEmpty { write(device, writes, as: id) }
    return "saves a copy of \(shown(record)): name “\(name)” notes “\(notes)”"
  }

  mutating func delete(_ device: Int, _ choices: [Int]) async throws -> String? {
    guard let record = pick(visible(Self.kinds, device), choices[0]) else { return nil }
    let id: OperationID?
    switch model.kinds[record] {
    case .trip: id = try await node(device).delete(Trip(id: .init(ids[record])))
    case .lodging: id = try await node(device).delete(Lodging(id: .init(ids[record])))
    case .attachment: id = try await node(device).delete(Attachment(id: .init(ids[record])))
    default: id = try await node(device).delete(Habit(id: .init(ids[record])))
    }
    write(device, [.init(record: record, field: .life): .flag(false)], as: id)
    return "deletes \(shown(record))"
  }

  mutating func restore(_ device: Int, _ choices: [Int]) async throws -> String? {
    let dead = known(Self.kinds, device).filter { model.hidden(by: $0, device) == $0 }
    guard let record = pick(dead, choices[0]) else { return nil }
    var changes = Changes()
    switch model.kinds[record] {
    case .trip: changes.restore(Trip.ID(ids[record]))
    case .lodging: changes.restore(Lodging.ID(ids[record]))
    case .attachment: changes.restore(Attachment.ID(ids[record]))
    default: changes.restore(Habit.ID(ids[record]))
    }
    if model.isGone(record, device) {
      try await expectRefusal(.erased) { _ = try await apply(changes, device) }
      return "can't restore \(shown(record))"
    }
    write(
      device, [.init(record: record, field: .life): .flag(true)], as: try await apply(changes, device))
    return "restores \(shown(record))"
  }

  mutating func erase(_ device: Int, _ choices: [Int]) async throws -> String? {
    guard let record = pick(known(Self.kinds, device), choices[0]) else { return nil }
    let targets = ([record] + model.descendants(of: record, device)).filter { !model.isGone($0, device) }
    guard !targets.isEmpty else {
      try await expectRefusal(.erased) { _ = try await callErase(record, device) }
      return "can't erase \(shown(record)) again"
    }
    let dead = targets.map { (HistoryModel.Cell(record: $0, field: .life), HistoryModel.Content.flag(false)) }
    let id = try await callErase(record, device)
    write(
      device, Dictionary(uniqueKeysWithValues: dead), as: id, erased: Set(targets))
    return "erases \(targets.map(shown).joined(separator: ", "))"
  }

  func callErase(_ record: Int, _ device: Int) async throws -> OperationID? {
    switch model.kinds[record] {
    case .trip: try await node(device).erase(Trip(id: .init(ids[record]))).operation
    case .lodging: try await node(device).erase(Lodging(id: .init(ids[record]))).operation
    case .attachment: try await node(device).erase(Attachment(id: .init(ids[record]))).operation
    default: try await node(device).erase(Habit(id: .init(ids[record]))).operation
    }
  }

  mutating func undo(_ device: Int, _ choices: [Int]) async throws -> String? {
    let known = model.held[device].filter { operations[$0] != nil }.sorted()
    // Few operations change several records, and those are undone more often.
    let largest = known.max { (recordCount($0), $0) < (recordCount($1), $1) }
    let picked = choices[1] % 4 == 0 ? largest : pick(known, choices[0])
    guard let number = picked, let id = operations[number] else { return nil }
    let writes = model.undo(number, device)
    let node = node(device)
    guard !writes.isEmpty else {
      try await expectRefusal(nil) { try await node.undo(id) }
      return "can't undo operation \(number)"
    }
    let undo = try await node.undo(id).undo
    write(device, writes, as: undo, undone: number)
    return "undoes operation \(number)"
  }

  private func recordCount(_ operation: Int) -> Int {
    Set(model.operations[operation].writes.keys.map(\.record)).count
  }

  mutating func resolve(_ device: Int, _ choices: [Int]) async throws -> String? {
    // A conflict about the rest stands for several.
    let conflicts = model.conflicts(device).filter { $0.field != .rest }
    guard let conflict = pick(conflicts, choices[0]) else { return nil }
    let node = node(device)
    let listed = try await node.conflicts().first {
      $0.record == ids[conflict.record] && HistoryView.field($0) == conflict.field?.rawValue
        && $0.reason.rawValue == conflict.reason.rawValue
    }
    guard let listed else { throw Difference("the node does not list the conflict \(conflict)") }
    let isWinner = choices[1] % 2 == 0
    guard let writes = model.resolution(conflict, isWinner: isWinner, device) else {
      try await expectRefusal(.ambiguous) { try await node.resolve(listed.id, taking: .loser) }
      return "can't choose among several losers of \(conflict)"
    }
    let resolution = try await node.resolve(listed.id, taking: isWinner ? .winner : .loser)
    write(device, writes, as: resolution.operation)
    return
      "keeps the \(isWinner ? "winner" : "loser") of \(shown(conflict.record)) \(conflict.field?.rawValue ?? "")"
  }

  mutating func set(_ device: Int, _ choices: [Int]) async throws -> String? {
    let key = "history.\(choices[0] % 2)"
    let value = word(choices[1])
    let record = settings[key] ?? model.addRecord(.setting)
    if settings[key] == nil { ids.append(random.uuid()) }
    settings[key] = record
    let cell = HistoryModel.Cell(record: record, field: .name)
    guard model.shown(cell, device) != .text(value) else { return nil }
    try await node(device).set(Setting(key, default: ""), to: value)
    write(device, [cell: .text(value)], as: nil)
    return "sets \(key) to “\(value)”"
  }

  mutating func profile(_ device: Int, _ choices: [Int]) async throws -> String? {
    let cell = HistoryModel.Cell(record: HistoryModel.profile, field: .whole)
    var (name, zone) = ("", "")
    if case .profile(let oldName, let oldZone) = model.shown(cell, device) {
      (name, zone) = (oldName, oldZone)
    }
    if choices[0] % 2 == 0 { name = word(choices[1]) } else { zone = word(choices[1]) }
    guard model.shown(cell, device) != .profile(name: name, zone: zone) else { return nil }
    let (newName, newZone) = (name, zone)
    var changes = Changes()
    changes.update(Profile.only) {
      $0.name = newName
      $0.gender = newZone
    }
    write(device, [cell: .profile(name: name, zone: zone)], as: try await apply(changes, device))
    return "writes the profile “\(name)” “\(zone)”"
  }

  mutating func sync(_ device: Int) async throws -> String? {
    if isSyncing[device] {
      try await node(device).turnSyncOff()
    } else if !hasPremium(device) {
      let node = node(device)
      try await expectRefusal(.entitlementExpired) { try await node.turnSyncOn(isConfirmed: true) }
      return "can't turn sync on"
    } else {
      try await node(device).turnSyncOn(isConfirmed: true)
    }
    isSyncing[device].toggle()
    return "turns sync \(isSyncing[device] ? "on" : "off")"
  }

  mutating func meet(_ device: Int, _ choices: [Int]) async throws -> String? {
    var together = devices.indices.filter { (choices[0] >> $0) & 1 == 1 || $0 == device }
    if together.count < 2 { together = Array(devices.indices) }
    try await exchange(together)
    return "meets " + together.filter { $0 != device }.map { Self.names[$0] }.joined(separator: ", ")
  }

  /// Connects two devices that stay connected, or ends their connection.
  mutating func connect(_ device: Int, _ choices: [Int]) async throws -> String? {
    guard let peer = pick(devices.indices.filter { $0 != device }, choices[0]) else { return nil }
    connected = choices[1] % 4 == 0 ? [] : [device, peer]
    await partition(connected)
    if !connected.isEmpty { try await settle(connected) }
    return connected.isEmpty ? "disconnects" : "stays connected with \(Self.names[peer])"
  }

  mutating func exchange(_ together: [Int]) async throws {
    connected = []
    breakConnectionsSoon()
    await partition(together)
    try await settle(together)
    // Elsewhere, a person would have to try again.
    circle.clock.scheduler?.forgetInterruption()
    await partition([])
  }

  /// Waits until connected devices have exchanged everything, and compares all of them with the model.
  mutating func settle(_ together: [Int]) async throws {
    try await circle.settle()
    shareEntitlements(together)
    let syncing = together.filter { isSyncing[$0] && hasPremium($0) }
    try await waitForFiles(syncing)
    model.meet(together, records: syncing)
    model.exchangeFiles(syncing)
    for device in together { try await check(device) }
  }

  // MARK: The end

  mutating func end() async throws {
    _ = try await renew()
    try await exchange(Array(devices.indices))
    for device in devices.indices where !isSyncing[device] { _ = try await sync(device) }
    try await exchange(Array(devices.indices))
    for device in devices.indices {
      let found = try await node(device).verifyStore()
      guard found.isSound else { throw Difference("\(Self.names[device]): \(found.text)") }
      try await circle.reopen(Self.names[device])
      try await check(device)
    }
    try await circle.assertConverged()
    try await checkTransfer()
    _ = try await backUp(0)
    for backup in backups.suffix(1) { try await checkElsewhere(backup) }
  }

  /// Another circle that imports an export shows the same records.
  func checkTransfer() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
    defer { try? FileManager.default.removeItem(at: file) }
    try await node(0).export(as: .json, to: file)
    let other = try Node.inMemory(clock: circle.clock)
    try await other.importFiles([file])
    let view = HistoryView(ids)
    let (before, after) = (try await view.records(of: node(0)), try await view.records(of: other))
    await other.close()
    if let text = HistoryView.difference(before, after, "exported", "imported") { throw Difference(text) }
  }

  // MARK: Comparing

  func check(_ device: Int) async throws {
    try await check(node(device), as: device, in: model, Self.names[device])
  }

  /// Compares what a node shows with what a device should show.
  func check(_ node: Node, as device: Int, in model: HistoryModel, _ name: String) async throws {
    let view = HistoryView(ids)
    let expected = view.lines(of: model, device, settings, words: Self.words)
    let found = try await view.lines(
      of: node, devices: keys, settings: settings.keys.sorted(), words: Self.words,
      uncertain: model.uncertainFiles[device])
    if let text = HistoryView.difference(expected, found, "model", name) { throw Difference(text) }
  }
}

/// The text of a difference.
struct Difference: Error, CustomStringConvertible {
  let description: String

  init(_ text: String) { description = text }
}
