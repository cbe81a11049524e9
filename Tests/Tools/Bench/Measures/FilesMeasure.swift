import Foundation
import JSONDocument
import Processes
import Wire

/// Attachments: added on one device, then fetched by one that has nothing; compared with what rsync and Syncthing do with the
/// same files in the same minutes.
struct FilesMeasure {
  private let stage: Stage

  init(_ stage: Stage) { self.stage = stage }

  func run() throws -> [Row] {
    try stage.options.files.flatMap { shape in
      let payload = try Payload(shape.count, shape.bytes, in: stage.folder)
      defer { payload.remove() }
      return try rows(of: payload)
    }
  }

  private func rows(of payload: Payload) throws -> [Row] {
    let (rsync, syncthing) = (FileYardstick("rsync", in: stage), FileYardstick("syncthing", in: stage))
    var runs: [FilesRun] = []
    for round in 0..<min(3, stage.options.rounds) {
      runs.append(try FilesRun(payload, "\(payload.files.count)-\(round)", stage))
      try rsync.run(payload)
      try syncthing.run(payload)
    }
    func rate(_ seconds: [Double]) -> Double { payload.megabytes / seconds.median }
    let (added, synced) = (rate(runs.map(\.addSeconds)), rate(runs.map(\.syncSeconds)))
    let floor = rate(rsync.syncSeconds)
    let (rivalAdded, rivalSynced) = (rate(syncthing.addSeconds), rate(syncthing.syncSeconds))
    func isMet(_ value: Double, _ rival: Double) -> Bool? {
      guard floor.isFinite, rival.isFinite else { return nil }
      return value >= 0.8 * floor && value >= rival
    }
    let goal = "≥ 0.8 × rsync, ≥ 1.0 × Syncthing"
    let memory = runs.map(\.peakMebibytes).max() ?? .nan
    let disk = runs.map(\.diskBytes).median / (payload.megabytes * 1e6)
    let busy = runs.map { $0.changeBusy / $0.changeCalm }.median
    return [
      Row("\(payload.name), added", added, "MB/s", goal: goal, isMet: isMet(added, rivalAdded)),
      Row("  to an empty device", synced, "MB/s", goal: goal, isMet: isMet(synced, rivalSynced)),
      Row("  the same with rsync --fsync, from a daemon", floor, "MB/s"),
      Row("  the same with Syncthing, added", rivalAdded, "MB/s"),
      Row("  the same with Syncthing, synced", rivalSynced, "MB/s"),
      Row("  memory above idle, the greater of both", memory, "MiB", goal: "≤ 16", isMet: memory <= 16),
      Row("  on the disk, of the payload", disk, "×", goal: "≤ 1.01", isMet: disk <= 1.01),
      Row(
        "  a change meanwhile, of its usual time", busy, "×", goal: "≤ 3", isMet: busy.isNaN ? nil : busy <= 3
      ),
    ]
  }
}

/// Files of equal size with random bytes.
struct Payload {
  let name: String
  let folder: URL
  let files: [String]
  let megabytes: Double

  init(_ count: Int, _ bytes: Int, in stage: URL) throws {
    let size = bytes >= 1_000_000 ? "\(bytes / 1_000_000) MB" : "\(bytes / 1_000) KB"
    name = "\(Table.text(Double(count))) × \(size)"
    megabytes = Double(count) * Double(bytes) / 1e6
    folder = stage.appending(path: "payload-\(count)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let random = try FileHandle(forReadingFrom: URL(filePath: "/dev/urandom"))
    files = try (0..<count).map { [folder] number in
      let content = try random.read(upToCount: bytes) ?? Data()
      let file = folder.appending(path: "\(number).bin")
      try content.write(to: file)
      return file.path
    }
  }

  func remove() { try? FileManager.default.removeItem(at: folder) }
}

/// The files added on one device, then fetched by a second one, and by a third one while changes are made.
struct FilesRun {
  let addSeconds: Double
  let syncSeconds: Double
  let peakMebibytes: Double
  let diskBytes: Double
  /// Milliseconds of one change between the devices: usually, and while the files are on their way. The second one is
  /// unknown if the files arrive too fast.
  let changeCalm: Double
  let changeBusy: Double

  init(_ payload: Payload, _ name: String, _ stage: Stage) throws {
    let full = try stage.founder("files-full-\(name)")
    try full.start()
    let trip = try full.ask("trip.add", ["fields": [["name", "Rome"], ["notes", "0"]]])["id"]?.string ?? ""
    let hotel = try full.ask("lodging.add", ["fields": [["trip", .string(trip)], ["name", "Casa"]]])["id"]
    let idle = full.peakMebibytes
    var begun = now()
    try full.attach(payload.files, to: hotel?.string ?? "")
    addSeconds = now() - begun
    // The changes and the looking for them take time from the transfer, so they have one of their own.
    let fresh = try Self.member("files-fresh-\(name)", of: full, stage)
    let freshIdle = fresh.peakMebibytes
    begun = now()
    try fresh.ask("sync.on")
    try fresh.wait()
    syncSeconds = now() - begun
    let arrived = try fresh.fileCount()
    guard arrived == payload.files.count else { throw Failure("\(arrived) files of \(payload.name) arrived") }
    let freshPeak = fresh.peakMebibytes - freshIdle
    try fresh.stop()
    diskBytes = fresh.diskBytes + fresh.fileBytes
    stage.forget(fresh)
    let busy = try Self.member("files-busy-\(name)", of: full, stage)
    let busyIdle = busy.peakMebibytes
    let changes = try FileChanges(trip, from: full, to: busy, count: payload.files.count)
    (changeBusy, changeCalm) = (changes.busy.median, changes.calm.median)
    peakMebibytes = max(full.peakMebibytes - idle, freshPeak, busy.peakMebibytes - busyIdle)
    stage.forget(busy)
    stage.forget(full)
  }

  /// A new device with the settings of its circle, which does not sync records yet.
  private static func member(_ name: String, of full: BenchNode, _ stage: Stage) throws -> BenchNode {
    let fresh = try stage.member(name, of: full, syncs: false)
    try fresh.start("--peer", full.address)
    try fresh.ask("wait", ["lane": "settings", "timeoutMilliseconds": 60_000])
    return fresh
  }
}

/// How many milliseconds changes take between two devices, while one fetches the files of the other and afterwards.
struct FileChanges {
  private(set) var busy: [Double] = []
  private(set) var calm: [Double] = []

  init(_ trip: String, from full: BenchNode, to fresh: BenchNode, count: Int) throws {
    let began = now()
    try fresh.ask("sync.on")
    let eye = try Eye(fresh.store, trip)
    var number = 0
    func change() throws -> Double {
      number += 1
      let changed = now()
      try full.ask("trip.edit", Pair.edit(trip, number))
      while try eye.sees() < number {
        guard now() < changed + 60 else { throw Failure("waited 60 seconds for a change") }
        usleep(200)
      }
      defer { usleep(20_000) }
      return (now() - changed) * 1e3
    }
    while try fresh.fileCount() < count {
      guard now() < began + 600 else { throw Failure("waited 600 seconds for \(count) files") }
      let milliseconds = try change()
      // The first changes wait until the fresh device has the records.
      if number > 2 { busy.append(milliseconds) }
    }
    for _ in 0..<50 { calm.append(try change()) }
  }
}

extension BenchNode {
  /// Attaches files to a lodging.
  func attach(_ files: [String], to lodging: String) throws {
    // A request holds at most 1 MiB.
    for first in stride(from: 0, to: files.count, by: 1_000) {
      let part = files[first..<min(files.count, first + 1_000)].map { ["file", .string($0)] as JSON }
      try ask("attachment.add", ["fields": .array([["lodging", .string(lodging)]] + part)])
    }
  }

  private var filesFolder: URL { home.appending(path: "files") }

  /// The files that are here, with all their bytes.
  func fileCount() throws -> Int { Int(try ask("status")["files"]?["here"]?.float ?? 0) }

  /// Bytes of the files on the disk, with what is kept next to them.
  var fileBytes: Double {
    guard
      let found = FileManager.default.enumerator(at: filesFolder, includingPropertiesForKeys: [.fileSizeKey])
    else { return 0 }
    return found.reduce(0) { sum, file in
      let size = (file as? URL).flatMap { try? $0.resourceValues(forKeys: [.fileSizeKey]).fileSize }
      return sum + Double(size ?? 0)
    }
  }
}

/// Another program that copies files between two processes.
final class FileYardstick {
  private let tool: String
  private let stage: Stage
  private(set) var addSeconds: [Double] = []
  private(set) var syncSeconds: [Double] = []

  init(_ tool: String, in stage: Stage) {
    self.tool = tool
    self.stage = stage
  }

  private static let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Yardsticks/files.py").path

  /// Copies a payload once. Nothing is measured if the program is not installed.
  func run(_ payload: Payload) throws {
    let output = stage.folder.appending(path: "said-\(tool)")
    try? FileManager.default.removeItem(at: output)
    let child = try Child(
      URL(filePath: "/usr/bin/env"),
      ["python3", Self.script, tool, payload.folder.path, stage.folder.appending(path: "yardstick").path],
      environment: ProcessInfo.processInfo.environment, input: nil, output: output,
      errors: stage.folder.appending(path: "errors-\(tool)"))
    let deadline = now() + 900
    while child.code == nil, now() < deadline { usleep(2_000) }
    child.signal(SIGKILL)
    guard child.code != 3 else { return }
    guard child.code == 0, let said = try? String(contentsOf: output, encoding: .utf8) else {
      throw Failure("\(tool) ended with \(child.code ?? -1)")
    }
    let answer = try JSON.parse(Array(said.utf8))
    if let seconds = answer["add"]?.float { addSeconds.append(seconds) }
    if let seconds = answer["sync"]?.float { syncSeconds.append(seconds) }
  }
}
