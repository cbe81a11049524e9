import Replication
import Sodium
import Wire

// Protocol/merge.md, written again from that page.

/// What the records show, from all folded writes at once.
struct RecordOracle {
  struct Cell: Hashable, Comparable {
    let trip: Int
    /// 0 for the life.
    let field: FieldNumber

    static func < (left: Cell, right: Cell) -> Bool { (left.trip, left.field) < (right.trip, right.field) }
  }

  private let world: SignedWorld
  private let log: LogOracle
  /// The slots without values, by set.
  private let absent: [Mask]
  /// The sets that wrote each cell.
  private var writers: [Cell: [Int]] = [:]

  init(_ world: SignedWorld, _ log: LogOracle, absent: [Mask]) {
    (self.world, self.log, self.absent) = (world, log, absent)
    for set in log.folded.positions {
      for cell in Self.cells(world.script.sets[set]) { writers[cell, default: []].append(set) }
    }
  }

  private static func cells(_ set: PlannedSet) -> Set<Cell> {
    var cells: Set<Cell> = []
    for entry in set.entries {
      for field in entry.fields.keys { cells.insert(Cell(trip: entry.trip, field: field)) }
      if entry.type != .put { cells.insert(Cell(trip: entry.trip, field: 0)) }
    }
    return cells
  }

  // MARK: Writes

  private func hasSeen(_ later: Int, _ earlier: Int) -> Bool {
    later != earlier && log.seen[later].has(earlier)
  }

  private func areConcurrent(_ one: Int, _ other: Int) -> Bool {
    one != other && !hasSeen(one, other) && !hasSeen(other, one)
  }

  static func erases(_ set: PlannedSet, _ trip: Int) -> Bool {
    set.entries.contains { $0.type == .erase && $0.trip == trip }
  }

  /// Whether an erase that is folded has taken what a set wrote to a trip.
  func isErased(_ set: Int, _ trip: Int) -> Bool {
    log.folded.positions.contains { Self.erases(world.script.sets[$0], trip) && hasSeen($0, set) }
  }

  private func winner(_ cell: Cell) -> Int? {
    writers[cell]?.max { world.sets[$0].stamp < world.sets[$1].stamp }
  }

  private func siblings(_ cell: Cell) -> [Int] {
    let (writers, winner) = (writers[cell] ?? [], winner(cell))
    return writers.filter { one in
      one != winner && !writers.contains { hasSeen($0, one) } && !isErased(one, cell.trip)
    }
  }

  /// What a set wrote to a cell, as text; nil if the value is absent.
  private func content(_ set: Int, _ cell: Cell) -> String? {
    let entries = world.script.sets[set].entries
    if cell.field == 0 {
      return entries.contains { $0.trip == cell.trip && ($0.type == .insert || $0.type == .restore) }
        ? "alive" : "dead"
    }
    var slot = 0
    for entry in entries where !entry.fields.isEmpty {
      if entry.trip == cell.trip, let text = entry.fields[cell.field] {
        return absent[set].has(slot) ? nil : text
      }
      slot += 1
    }
    return nil
  }

  // MARK: Records

  private var trips: [Int] { Set(writers.keys.map(\.trip)).sorted() }

  private func cells(of trip: Int) -> [Cell] { writers.keys.filter { $0.trip == trip }.sorted() }

  private func life(_ trip: Int) -> String? {
    let cell = Cell(trip: trip, field: 0)
    return winner(cell).flatMap { content($0, cell) }
  }

  var lines: [String] {
    var lines = trips.map(row) + conflicts
    let visible = trips.count { life($0) == "alive" }
    lines.append("\(visible) trips, digest \(hexadecimal(digest))")
    return lines
  }

  private func row(_ trip: Int) -> String {
    let cells = cells(of: trip).map { cell in
      let set = winner(cell) ?? 0
      return cell.field == 0 ? "life by \(set)" : "\(cell.field)=\(content(set, cell) ?? "-") by \(set)"
    }
    return "trip \(trip) \(life(trip) ?? "unborn"): \(cells.joined(separator: ", "))"
  }

  private var conflicts: [String] {
    trips.flatMap { trip in
      let isDead = life(trip) == "dead"
      let contested = cells(of: trip).compactMap { cell in
        cell.field == 0 && isDead ? nil : conflict(cell)
      }
      return contested + (isDead ? hidden(trip).map { [$0] } ?? [] : [])
    }.sorted()
  }

  private func conflict(_ cell: Cell) -> String? {
    guard let winner = winner(cell) else { return nil }
    let shown = content(winner, cell)
    let losers = siblings(cell).filter { content($0, cell) != shown }
    guard !losers.isEmpty else { return nil }
    let texts = losers.sorted().map { "\(content($0, cell) ?? "-") by \($0)" }
    return "conflict trip \(cell.trip) \(cell.field): \(shown ?? "-") by \(winner), not \(texts)"
  }

  private func hidden(_ trip: Int) -> String? {
    guard let deletion = winner(Cell(trip: trip, field: 0)) else { return nil }
    let writes = cells(of: trip).flatMap { cell -> [Int] in
      let shown = winner(cell).map { [$0] } ?? []
      return (siblings(cell) + shown).filter { cell.field != 0 || content($0, cell) != "dead" }
    }
    let lost = Set(writes).filter { areConcurrent($0, deletion) }.sorted()
    return lost.isEmpty ? nil : "conflict trip \(trip) deleted by \(deletion), hides \(lost)"
  }

  // MARK: Digest

  private var digest: [UInt8] {
    trips.reduce([UInt8](repeating: 0, count: 32)) { sum, trip in
      let key = SignedWorld.trip(trip)
      var bytes = Self.bigEndian(UInt64(key.kind.rawValue), count: 4) + key.id.bytes
      for cell in cells(of: trip) {
        guard let stamp = winner(cell).map({ world.sets[$0].stamp }) else { continue }
        bytes += Self.bigEndian(UInt64(cell.field), count: 4) + Self.bigEndian(stamp.clock.raw, count: 8)
        bytes += stamp.device.bytes + stamp.set.bytes
      }
      let prefix = Array("waymark/record-digest/v1\0".utf8)
      return Self.sum(sum, Blake2b256.bytes(Blake2b256.hash(prefix + bytes)))
    }
  }

  private static func bigEndian(_ number: UInt64, count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> UInt64(8 * $0)) }
  }

  private static func sum(_ one: [UInt8], _ other: [UInt8]) -> [UInt8] {
    var (sum, carry) = (one, 0)
    for index in sum.indices.reversed() {
      carry += Int(one[index]) + Int(other[index])
      sum[index] = UInt8(truncatingIfNeeded: carry)
      carry >>= 8
    }
    return sum
  }
}
