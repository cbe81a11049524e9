import Foundation
import Processes
import SQLite

/// A bare SQLite with the same rows: typed tables, ten thousand rows a transaction, nothing else.
struct PlainTable {
  let rowsPerSecond: Double
  let bytes: Double

  init(_ workload: Workload, in folder: URL) throws {
    let path = folder.appending(path: "plain.db").path
    for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
    let lines = try String(contentsOfFile: workload.tabs, encoding: .utf8).split(separator: "\n").map {
      $0.split(separator: "\t").map { Array($0.utf8) }
    }
    let connection = try Connection(.file(path))
    try connection.setUp()
    try connection.execute(Self.tables)
    let log = try connection.prepare("INSERT INTO log VALUES (?1, ?2, ?3, ?4, ?5)")
    let trip = try connection.prepare("INSERT INTO trip VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")
    let begun = now()
    for first in stride(from: 0, to: lines.count, by: 10_000) {
      try connection.transaction {
        for fields in lines[first..<min(lines.count, first + 10_000)] {
          if fields[0] == [UInt8(ascii: "L")] {
            try Self.insertLog(fields, log)
          } else {
            try Self.insertTrip(fields, trip)
          }
        }
      }
    }
    rowsPerSecond = Double(lines.count) / (now() - begun)
    try connection.checkpoint()
    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber
    bytes = size?.doubleValue ?? .nan
  }

  private static let tables = """
    CREATE TABLE log(id BLOB PRIMARY KEY NOT NULL, habit BLOB, date TEXT, value REAL, note TEXT) WITHOUT ROWID;
    CREATE TABLE trip(
      id BLOB PRIMARY KEY NOT NULL, title TEXT, start TEXT, "end" TEXT, lat REAL, lon REAL, notes TEXT
    ) WITHOUT ROWID;
    """

  private static func insertLog(_ fields: [[UInt8]], _ log: borrowing Statement) throws {
    try log.bind(1, bytes(fields[1]))
    try log.bind(2, bytes(fields[2]))
    try log.bind(3, String(decoding: fields[3], as: UTF8.self))
    try log.bind(4, Double(String(decoding: fields[4], as: UTF8.self)) ?? 0)
    try log.bind(5, String(decoding: fields[5], as: UTF8.self))
    try log.run()
  }

  private static func insertTrip(_ fields: [[UInt8]], _ trip: borrowing Statement) throws {
    try trip.bind(1, bytes(fields[1]))
    for index in 2...4 { try trip.bind(index, String(decoding: fields[index], as: UTF8.self)) }
    for index in 5...6 { try trip.bind(index, Double(String(decoding: fields[index], as: UTF8.self)) ?? 0) }
    try trip.bind(7, String(decoding: fields[7], as: UTF8.self))
    try trip.run()
  }

  private static func bytes(_ hex: [UInt8]) -> [UInt8] {
    func digit(_ character: UInt8) -> UInt8 { character <= 0x39 ? character - 0x30 : character - 0x57 }
    return stride(from: 0, to: hex.count, by: 2).map { digit(hex[$0]) << 4 | digit(hex[$0 + 1]) }
  }
}

/// The bare pipeline in C, built if its sources and a compiler are available. It hashes as much as the node does: a
/// commitment for each record, and the salts.
final class Pipeline {
  private let folder: URL

  struct Figures {
    var created = Double.nan
    var synced = Double.nan
    var changeMedian = Double.nan
    var change99 = Double.nan
    var wireBytesPerRow = Double.nan
    var changeBytes = Double.nan
  }

  /// Nil without a pipeline.
  init?(_ source: String?, in stage: URL) throws {
    guard let source else { return nil }
    folder = stage.appending(path: "pipeline")
    try FileManager.default.createDirectory(
      at: folder.appending(path: "db"), withIntermediateDirectories: true)
    let built = try shell(
      "gcc -O2 -w -include '\(Self.commitments)' '\(source)/floor.c' -lsqlite3 -lsodium -o '\(folder.path)/floor'",
      in: folder)
    guard built.code == 0 else { return nil }
  }

  /// The header that replaces the pipeline's hash of a set.
  private static let commitments = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Pipeline/commitments.h").path

  /// One run over the rows of a table.
  func run(_ tabs: String) throws -> Figures {
    let outcome = try shell("./floor '\(tabs)' 1000 10000 FULL", in: folder)
    guard outcome.code == 0 else { throw Failure("the pipeline ended with \(outcome.code)") }
    var figures = Figures()
    let words = outcome.text.split(whereSeparator: \.isWhitespace).map(String.init)
    func number(after word: String, _ distance: Int = 1) -> Double {
      guard let index = words.firstIndex(of: word), index + distance < words.count else { return .nan }
      return Double(words[index + distance].filter { "0123456789.".contains($0) }) ?? .nan
    }
    figures.created = number(after: "create+sign+store", 3)
    figures.synced = number(after: "=", 1)
    figures.changeMedian = number(after: "p50")
    figures.change99 = number(after: "p99")
    figures.wireBytesPerRow = number(after: "payload", 3)
    figures.changeBytes = number(after: "max", 3)
    return figures
  }

}

/// The time that a C program takes to list the trips of a store by SQL alone: `Tests/Tools/Yardsticks/lists.c`.
struct PlainList {
  let milliseconds: Double

  /// Nil without a compiler.
  init?(_ store: String, rounds: Int, in folder: URL) throws {
    let source = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Yardsticks/lists.c").path
    guard try shell("gcc -O2 '\(source)' -lsqlite3 -o lists", in: folder).code == 0 else { return nil }
    let outcome = try shell("./lists '\(store)' \(rounds)", in: folder)
    guard outcome.code == 0, let time = outcome.text.split(separator: " ").first.flatMap({ Double($0) })
    else {
      throw Failure("the listing in C ended with \(outcome.code)")
    }
    milliseconds = time
  }
}

/// Runs a line of shell in a folder.
private func shell(_ line: String, in folder: URL) throws -> (code: Int32, text: String) {
  let output = folder.appending(path: "said")
  try? FileManager.default.removeItem(at: output)
  let child = try Child(
    URL(filePath: "/bin/sh"), ["-c", "cd '\(folder.path)' && \(line)"],
    environment: ProcessInfo.processInfo.environment, input: nil, output: output,
    errors: folder.appending(path: "errors"))
  let deadline = now() + 300
  while child.code == nil, now() < deadline { usleep(2_000) }
  child.signal(SIGKILL)
  return (child.code ?? -1, (try? String(contentsOf: output, encoding: .utf8)) ?? "")
}
