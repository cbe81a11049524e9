import Foundation
import JSONDocument
import Processes
import SQLite
import Synchronization
import Wire

/// One change: from the request on one device until a reader of the other device's store sees it.
struct ChangeMeasure {
  private let stage: Stage
  private let changes = 1_000

  init(_ stage: Stage) { self.stage = stage }

  /// One change after another, each when the last has arrived.
  func one() throws -> [Row] {
    let pair = try Pair(stage, "one")
    defer { pair.remove() }
    let (times, bytes) = try pair.latencies(changes)
    let floor = try Pipeline(stage.options.pipeline, in: stage.folder).map {
      try $0.run(try stage.workload(.logs, min(stage.options.rows, 10_000)).tabs)
    }
    return [
      Row(
        "one change, request here to visible there", times.median, "ms p50", pipeline: floor?.changeMedian,
        goal: "≤ 3 × pipeline", isMet: floor.map { times.median <= 3 * $0.changeMedian }),
      Row(
        "", times.quantile(0.99), "ms p99", pipeline: floor?.change99, goal: "≤ 5",
        isMet: times.quantile(0.99) <= 5),
      try BareDisk.row(devices: 2, changes: changes, every: 0.002, in: stage.folder),
      Row(
        "  on the wire, both ways", bytes, "B", pipeline: floor?.changeBytes, goal: "≤ 420",
        isMet: bytes <= 420),
    ]
  }

  /// Two hundred changes a second, whether the last has arrived or not.
  func steady() throws -> [Row] {
    let pair = try Pair(stage, "steady")
    defer { pair.remove() }
    let eye = try Eye(pair.other.store, pair.trip)
    let line = try pair.first.line()
    let sent = Mutex<[Double]>([])
    let trouble = Mutex<String?>(nil)
    let (trip, count) = (pair.trip, changes)
    Thread.detachNewThread {
      let begun = now()
      for number in 1...count {
        let due = begun + Double(number) * 0.005
        while now() < due { usleep(UInt32(max(1, min(1_000, (due - now()) * 1e6)))) }
        sent.withLock { $0.append(due) }
        do { try line.ask("trip.edit", Pair.edit(trip, number)) } catch {
          return trouble.withLock { $0 = "\(error)" }
        }
      }
    }
    var times: [Double] = []
    let deadline = now() + 60
    while times.count < changes {
      if let trouble = trouble.withLock({ $0 }) { throw Failure(trouble) }
      guard now() < deadline else { throw Failure("waited 60 seconds for \(changes) changes") }
      let seen = try eye.sees()
      let (time, begun) = (now(), sent.withLock { $0 })
      while times.count < seen, times.count < begun.count { times.append((time - begun[times.count]) * 1e3) }
      usleep(10)
    }
    return [
      Row("one of 200 changes a second", times.median, "ms p50"),
      Row("", times.quantile(0.99), "ms p99", goal: "≤ 5", isMet: times.quantile(0.99) <= 5),
      try BareDisk.row(devices: 2, changes: changes, every: 0.005, in: stage.folder),
    ]
  }
}

/// Two devices in sync, with one trip.
final class Pair {
  let first: BenchNode
  let other: BenchNode
  let trip: String
  private let stage: Stage

  convenience init(_ stage: Stage, _ name: String) throws {
    let first = try stage.founder("\(name)-first")
    try first.start()
    let other = try stage.member("\(name)-other", of: first)
    try other.start("--peer", first.address)
    try self.init(first, other, stage)
  }

  /// Two running, connected devices.
  init(_ first: BenchNode, _ other: BenchNode, _ stage: Stage) throws {
    self.stage = stage
    self.first = first
    self.other = other
    trip = try first.ask("trip.add", ["fields": [["name", "Rome"], ["notes", "0"]]])["id"]?.string ?? ""
    try first.wait()
    try other.wait()
  }

  /// One change after another, each when the last has arrived: milliseconds of each, and the mean size of one in
  /// bytes.
  func latencies(_ changes: Int) throws -> (milliseconds: [Double], bytes: Double) {
    let eye = try Eye(other.store, trip)
    var times: [Double] = []
    let before = try first.wire()
    for number in 1...changes {
      let begun = now()
      try change(number)
      while try eye.sees() < number {
        guard now() < begun + 30 else { throw Failure("waited 30 seconds for change \(number)") }
        usleep(10)
      }
      times.append((now() - begun) * 1e3)
      usleep(200)
    }
    let after = try first.wire()
    return (times, (after.sent - before.sent + after.received - before.received) / Double(changes))
  }

  func change(_ number: Int) throws { try first.ask("trip.edit", Self.edit(trip, number)) }

  static func edit(_ trip: String, _ number: Int) -> JSON {
    ["id": .string(trip), "fields": .array([.array([.string("notes"), .string("\(number)")])])]
  }

  func remove() {
    stage.forget(other)
    stage.forget(first)
  }
}

/// A reader of a device's store, like any SQLite client: sees the newest change of a trip's notes.
struct Eye: ~Copyable {
  private let statement: Statement

  init(_ store: String, _ trip: String) throws {
    let connection = try Connection(.existingFileReadOnly(store))
    try connection.setUpReadOnly()
    let id = trip.replacing("-", with: "")
    statement = try connection.prepare("SELECT notes FROM trip_rows WHERE id = x'\(id)'")
  }

  func sees() throws -> Int {
    defer { statement.reset() }
    return try statement.step() ? Int(statement.text(0)) ?? 0 : 0
  }
}

extension Eye {
  /// The bytes of the newest stored set: header, signature, plan and values.
  static func newestSetBytes(_ store: String) throws -> Double {
    let connection = try Connection(.existingFileReadOnly(store))
    try connection.setUpReadOnly()
    return try connection.with(
      """
      SELECT length(header) + length(signature) + length(plan) + length(field_values) FROM change_sets
      ORDER BY number DESC LIMIT 1
      """
    ) { try $0.step() ? Double($0.integer(0)) : .nan }
  }
}

/// Readers of the stores of several devices.
final class Eyes {
  private let sees: [() throws -> Int]

  init(_ stores: [(store: String, trip: String)]) throws {
    sees = try stores.map { store, trip in
      let eye = try Eye(store, trip)
      return { try eye.sees() }
    }
  }

  /// Seconds until each of them saw a change, in order.
  func wait(for number: Int, since begun: Double) throws -> [Double] {
    var arrivals = [Double?](repeating: nil, count: sees.count)
    while arrivals.contains(where: { $0 == nil }) {
      guard now() < begun + 30 else { throw Failure("waited 30 seconds for change \(number)") }
      for index in sees.indices where arrivals[index] == nil {
        if try sees[index]() >= number { arrivals[index] = now() - begun }
      }
      usleep(10)
    }
    return arrivals.compactMap(\.self)
  }
}
