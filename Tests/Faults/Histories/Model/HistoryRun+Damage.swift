import Foundation
import SQLite
import Waymark
import WaymarkCare
import WaymarkTesting

// Sources/store.md, "A damaged change set". The disk of a device alters a bit of a change set or a file that another device
// has too. A verification or a backup finds it, or a start that builds the tables again. When the two devices meet, it is
// replaced, and nothing is different from before.

extension HistoryRun {
  /// How damage is found.
  private enum Finder: CaseIterable {
    case verification, start, backup, file
  }

  mutating func damage(_ device: Int, _ choices: [Int]) async throws -> String? {
    let peers = devices.indices.filter { $0 != device && isSyncing[$0] && hasPremium($0) }
    guard isSyncing[device], hasPremium(device), let peer = pick(peers, choices[0]) else { return nil }
    connected = []
    await partition([])
    let (name, node) = (Self.names[device], node(device))
    await circle.close(name)
    let column = Self.columns[choices[1] % Self.columns.count]
    let finder = Finder.allCases[choices[2] % Finder.allCases.count]
    let disk = DamagedDisk(store: node.home.store, peer: self.node(peer).home.store)
    let isDamaged =
      try finder == .file
      ? disk.alterFile(choices[3]) : disk.alter(column, choices[3], forgettingTables: finder == .start)
    try await circle.reopen(name)
    guard isDamaged else { return nil }
    // Until it is replaced, a damaged set explains no conflict, and tables that are built again lack its writes.
    try await find(finder, device)
    try await exchange([device, peer])
    let found = try await self.node(device).verifyStore()
    guard found.isSound else { throw Difference("what is damaged was not replaced: \(found.text)") }
    return finder == .file ? "finds a damaged file" : "finds a damaged \(column) by a \(finder)"
  }

  private func find(_ finder: Finder, _ device: Int) async throws {
    let node = node(device)
    if finder == .backup {
      let file = folder.appending(path: "damaged.waymark")
      try await expectRefusal(nil) { try await node.backUp(to: file) }
      guard !FileManager.default.fileExists(atPath: file.path) else {
        throw Difference("a refused backup was written")
      }
    } else if try await node.verifyStore().isSound {
      throw Difference("the verification finds nothing")
    }
  }

  private static let columns = ["header", "signature", "plan", "field_values"]
}

/// The database of a closed device, of which the disk alters a bit.
struct DamagedDisk {
  let store: String
  let peer: String

  /// Alters a bit of one of the change sets that the peer has too.
  ///
  /// - Parameter forgettingTables: whether the tables seem to be of another version, so that the next start builds them.
  /// - Returns: false if there is no such set.
  func alter(_ column: String, _ choice: Int, forgettingTables: Bool) throws -> Bool {
    let sql =
      "SELECT id FROM change_sets WHERE folded = 1 AND length(\(column)) > 0 ORDER BY clock, sequence, branch"
    let common = Set(try ids(Connection(.existingFileReadOnly(peer)), "SELECT id FROM change_sets"))
    let connection = try Connection(.file(store))
    let known = try ids(connection, sql).filter(common.contains)
    guard !known.isEmpty else { return false }
    let id = known[choice % known.count]
    try connection.with("SELECT \(column) FROM change_sets WHERE id = ?1") { row in
      try row.bind(1, id)
      guard try row.step() else { return }
      var bytes = row.bytes(0)
      bytes[choice % bytes.count] ^= 1 << UInt8(choice % 8)
      try connection.with("UPDATE change_sets SET \(column) = ?2 WHERE id = ?1") { update in
        try update.bind(1, id)
        try update.bind(2, bytes)
        try update.run()
      }
    }
    if forgettingTables { try connection.execute("UPDATE meta SET value = '' WHERE key = 'derived'") }
    return true
  }

  /// Alters a bit of one of the files that the peer has too.
  func alterFile(_ choice: Int) throws -> Bool {
    func folder(_ store: String) -> URL {
      URL(filePath: store).deletingLastPathComponent().appending(path: "files")
    }
    func names(_ store: String) -> [String] {
      let all = try? FileManager.default.subpathsOfDirectory(atPath: folder(store).path)
      // Whole files are in folders of their own, and have no suffix.
      return (all ?? []).filter { $0.contains("/") && !$0.contains(".") }.sorted()
    }
    let known = names(store).filter(names(peer).contains)
    guard !known.isEmpty else { return false }
    let file = folder(store).appending(path: known[choice % known.count])
    var bytes = try Data(contentsOf: file)
    bytes[choice % bytes.count] ^= 1 << UInt8(choice % 8)
    try bytes.write(to: file)
    return true
  }

  private func ids(_ connection: Connection, _ sql: String) throws -> [[UInt8]] {
    try connection.with(sql) { row in
      var found: [[UInt8]] = []
      while try row.step() { found.append(row.bytes(0)) }
      return found
    }
  }
}
