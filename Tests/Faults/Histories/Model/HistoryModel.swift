// What a circle should hold, as simply as it can be said.
//
// The model knows who wrote what, when, and what its author had seen: nothing else. It has no clocks, stamps, change sets
// or tables. An operation is a number; a later one has a higher number, and wins. What a device holds is a set of such
// numbers, and two devices that meet have the union of both.
//
//     operation   0: alice creates trip A "Rome"           seen: –
//                 1: alice deletes A                       seen: 0
//                 2: bob renames A to "Roma"               seen: 0
//
//     alice holds 0, 1      no trip; A in the trash as "Rome"
//     bob   holds 0, 2      "Roma"
//     both have met: 0 1 2  no trip; A in the trash as "Roma"; one conflict: an edit lost to a delete
//
// Everything else is computed from these sets each time it is asked for, by the definitions of Protocol/merge.md and never
// step by step. That is slow and obvious; the node does the same fast, and is compared with it.

/// The state of all devices according to what was written and who met whom.
struct HistoryModel {
  /// A kind of record.
  enum Kind: Int, CaseIterable, Hashable {
    case trip, lodging, attachment, habit, profile, setting

    /// Whether records of this kind belong to another record.
    var hasParent: Bool { self == .lodging || self == .attachment }
  }

  /// A field of a record.
  enum Field: String, Hashable, Comparable, CaseIterable {
    case life, name, notes, data, parent = "trip", whole
    /// All fields that are written when the record is created and never edited. A node shows one of them: the date of
    /// creation.
    case rest = "createdDate"

    static func < (left: Field, right: Field) -> Bool { left.rawValue < right.rawValue }
  }

  struct Cell: Hashable {
    let record: Int
    let field: Field
  }

  /// What a write wrote to a cell.
  enum Content: Hashable {
    case null
    case flag(Bool)
    case text(String)
    case record(Int)
    case profile(name: String, zone: String)
  }

  /// The operations that a device writes one after the other in one lane, until it is restored from a backup or gets new
  /// keys.
  struct Log: Hashable {
    let device: Int
    /// How often the device was readmitted, each time with new keys.
    var readmissions = 0
    var restores = 0
    var isOfSettings = false
  }

  /// One action of a person.
  struct Operation {
    let device: Int
    let log: Log
    /// The newest operation of each log that the device held.
    let heads: [Int]
    /// The operations that count as seen: those that the device held, unless operations were excluded since.
    var past: Set<Int>
    var writes: [Cell: Content] = [:]
    /// The records whose earlier values the operation erased.
    var erased: Set<Int> = []
    /// The operation that this one undoes.
    var undone: Int?
    /// The operation whose time of change this one's profile has; nil for its own. An import keeps the time in the file.
    var time: Int?
  }

  /// The record of the profile, which exists from the start.
  static let profile = 0

  var operations: [Operation] = []
  /// The operations that a revocation has excluded. No device gets them again.
  var excluded: Set<Int> = []
  /// The logs that the devices write to.
  var logs: [Log]
  /// The kinds of the records.
  private(set) var kinds: [Kind] = [.profile]
  /// The operations that each device holds.
  var held: [Set<Int>]
  /// The files that are on each device, by the text that names their content.
  var files: [Set<String>]
  /// The files of which the model can't tell whether they are on a device.
  var uncertainFiles: [Set<String>]

  init(devices: Int) {
    held = Array(repeating: [], count: devices)
    logs = (0..<devices).map { Log(device: $0) }
    files = Array(repeating: [], count: devices)
    uncertainFiles = Array(repeating: [], count: devices)
  }

  // MARK: Writing

  mutating func addRecord(_ kind: Kind) -> Int {
    kinds.append(kind)
    return kinds.count - 1
  }

  /// Adds an operation of a device, which has seen all that it holds.
  ///
  /// - Returns: the number of the operation.
  @discardableResult
  mutating func write(
    _ device: Int, _ writes: [Cell: Content], erased: Set<Int> = [], undone: Int? = nil, time: Int? = nil
  ) -> Int {
    let number = operations.count
    var log = logs[device]
    log.isOfSettings = writes.keys.contains { kinds[$0.record] == .setting }
    let heads = Dictionary(grouping: held[device]) { operations[$0].log }.compactMap { $0.value.max() }
    operations.append(
      Operation(
        device: device, log: log, heads: heads, past: held[device], writes: writes, erased: erased,
        undone: undone, time: time))
    held[device].insert(number)
    return number
  }

  /// Whether an operation is in the lane of settings, which all devices exchange.
  func isSetting(_ number: Int) -> Bool {
    operations[number].log.isOfSettings
  }

  /// Lets devices exchange what they hold: settings among all of them, records among some.
  mutating func meet(_ devices: [Int], records: [Int]) {
    let all = devices.reduce(into: Set<Int>()) { $0.formUnion(held[$1]) }.filter(isSetting)
    let some = records.reduce(into: Set<Int>()) { $0.formUnion(held[$1]) }.filter { !isSetting($0) }
    for device in devices { held[device].formUnion(all) }
    for device in records { held[device].formUnion(some) }
  }

  // MARK: Cells

  /// Returns the operations among some that wrote a cell.
  func writers(of cell: Cell, _ among: Set<Int>) -> Set<Int> {
    among.filter { operations[$0].writes[cell] != nil }
  }

  /// Whether the value that an operation wrote to a record is gone on a device that holds some operations.
  func isErased(_ number: Int, _ record: Int, _ holding: Set<Int>) -> Bool {
    holding.contains { operations[$0].erased.contains(record) && operations[$0].past.contains(number) }
  }

  /// Returns what an operation wrote to a cell; null if the value was erased. A life is never erased, because it follows
  /// from what the operation did.
  func content(_ number: Int, _ cell: Cell, _ holding: Set<Int>) -> Content {
    guard let content = operations[number].writes[cell] else { return .null }
    return cell.field != .life && isErased(number, cell.record, holding) ? .null : content
  }

  /// Returns what a cell shows on a device.
  func shown(_ cell: Cell, _ device: Int) -> Content {
    winner(of: cell, writers(of: cell, held[device])).map { content($0, cell, held[device]) } ?? .null
  }

  /// Returns the write that a cell shows, of several: the latest, or of a profile the one with the highest rank.
  func winner(of cell: Cell, _ writers: Set<Int>) -> Int? {
    cell.field == .whole ? writers.max { rank($0) < rank($1) } : writers.max()
  }

  /// The rank of a write of the profile.
  func rank(_ number: Int) -> (time: Int, filled: Int, number: Int) {
    let operation = operations[number]
    guard case .profile(let name, let zone) = operation.writes[Self.wholeProfile] else {
      return (0, 0, number)
    }
    return (operation.time ?? number, [name, zone].count { !$0.isEmpty }, number)
  }

  static let wholeProfile = Cell(record: profile, field: .whole)

  // MARK: Records

  /// Whether the store of a device has a record.
  func knows(_ device: Int, _ record: Int) -> Bool {
    held[device].contains { operations[$0].writes.keys.contains { $0.record == record } }
  }

  func isAlive(_ record: Int, _ device: Int) -> Bool {
    shown(Cell(record: record, field: .life), device) == .flag(true)
  }

  func parent(of record: Int, _ device: Int) -> Int? {
    guard case .record(let parent) = shown(Cell(record: record, field: .parent), device) else { return nil }
    return parent
  }

  func isVisible(_ record: Int, _ device: Int) -> Bool {
    guard isAlive(record, device) else { return false }
    guard kinds[record].hasParent else { return true }
    return parent(of: record, device).map { isVisible($0, device) } ?? false
  }

  /// The records of a kind that a device knows.
  func records(_ kind: Kind, _ device: Int) -> [Int] {
    kinds.indices.filter { kinds[$0] == kind && knows(device, $0) }
  }

  /// The record whose deletion hides a record: itself, or one that it belongs to. Nil if it is visible, or not hidden by a
  /// deletion.
  func hidden(by record: Int, _ device: Int) -> Int? {
    let life = Cell(record: record, field: .life)
    guard !writers(of: life, held[device]).isEmpty else { return nil }
    guard isAlive(record, device) else { return record }
    guard kinds[record].hasParent, let parent = parent(of: record, device), knows(device, parent) else {
      return nil
    }
    return hidden(by: parent, device)
  }

  /// Whether nothing is left of a record, because it was erased.
  func isGone(_ record: Int, _ device: Int) -> Bool {
    let fields = Field.allCases.filter { $0 != .life }
    let isErased = held[device].contains { operations[$0].erased.contains(record) }
    return isErased && !isAlive(record, device)
      && fields.allSatisfy { shown(Cell(record: record, field: $0), device) == .null }
      && Field.allCases.allSatisfy { siblings(Cell(record: record, field: $0), device).isEmpty }
  }

  /// The records that belong to a record, whether they are visible or not, as far as the device still has the reference.
  func children(of record: Int, _ device: Int) -> [Int] {
    kinds.indices.filter {
      kinds[$0].hasParent && knows(device, $0) && parent(of: $0, device) == record
    }
  }

  /// The children of a record, their children, and so on.
  func descendants(of record: Int, _ device: Int) -> [Int] {
    let children = children(of: record, device)
    return children + children.flatMap { descendants(of: $0, device) }
  }

  // MARK: Concurrent writes

  /// The writes of a cell that no other write has seen, besides the one that is shown.
  func siblings(_ cell: Cell, _ device: Int) -> Set<Int> {
    let writers = writers(of: cell, held[device])
    guard let winner = winner(of: cell, writers) else { return [] }
    return writers.filter { number in
      number != winner && !writers.contains { operations[$0].past.contains(number) }
        && !isErased(number, cell.record, held[device])
    }
  }
}
