import Foundation
import Waymark
import WaymarkCare
import WaymarkTesting

// A restored store has what its backup had, and nothing that was written or received since: other devices send that
// again, as far as they have it. What the device writes afterwards is in a new log.

extension HistoryRun {
  /// A backup, and what its device held.
  struct Backup {
    let number: Int
    let file: URL
    let device: Int
    let held: Set<Int>
    let files: Set<String>
    let uncertainFiles: Set<String>
  }

  mutating func backUp(_ device: Int) async throws -> String {
    let file = folder.appending(path: "\(backups.count).waymark")
    try await node(device).backUp(to: file)
    backups.append(
      Backup(
        number: backups.count, file: file, device: device, held: model.held[device],
        files: model.files[device],
        uncertainFiles: model.uncertainFiles[device]))
    return "writes backup \(backups.count - 1)"
  }

  /// Restores a backup of this or another device: here, or in an empty home, where it can only be read.
  mutating func restoreBackup(_ device: Int, _ choices: [Int]) async throws -> String? {
    guard let backup = pick(backups.suffix(4), choices[0]) else { return nil }
    if choices[1] % 3 == 0 || model.logs[device].restores == Self.restoresMax {
      try await checkElsewhere(backup)
      return "reads backup \(backup.number) on another machine"
    }
    let name = Self.names[device]
    await circle.close(name)
    try await restore(backup, node(device).home, name)
    try await circle.reopen(name)
    model.restore(backup, device)
    model.logs[device].restores += 1
    copies[device] = nil
    return "restores backup \(backup.number) of \(Self.names[backup.device])"
  }

  /// A device may have 16 logs, one for each restore.
  static let restoresMax = 10

  /// Restores a backup as its preview says.
  private func restore(_ backup: Backup, _ home: Home, _ name: String) async throws {
    let clock = circle.clock
    let request = RestoreOperation.Request(file: backup.file.path(percentEncoded: false), name: name)
    let operation = RestoreOperation(home: home, request: request) { clock.wall() }
    let (preview, done) = (try await operation.preview(), try await operation.restore(isConfirmed: true))
    guard
      (preview.records, preview.changeSets, preview.files, preview.missingFiles, preview.hasNewKeys)
        == (done.records, done.changeSets, done.files, done.missingFiles, done.hasNewKeys),
      preview.erasedAgain == done.erasedAgain, preview.discardedSets == done.discardedSets
    else { throw Difference("the restore did not do what its preview said: \(preview), \(done)") }
  }

  /// A backup that is restored in an empty home shows what its device showed.
  func checkElsewhere(_ backup: Backup) async throws {
    let home = try TestHome()
    try await restore(backup, home.home, "elsewhere")
    let node = try circle.openElsewhere(home.home)
    var then = model
    then.files[backup.device] = []
    // Nothing there knows of a revocation that came later.
    then.excluded = []
    then.restore(backup, backup.device)
    do {
      try await check(node, as: backup.device, in: then, "the restored backup")
      let found = try await node.verifyStore()
      guard found.isSound else { throw Difference("the restored backup: \(found.text)") }
    } catch {
      await node.close()
      throw error
    }
    await node.close()
  }
}

extension HistoryModel {
  /// Puts a device back to what it held when a backup was written. It uses files of the store that is replaced.
  mutating func restore(_ backup: HistoryRun.Backup, _ device: Int) {
    held[device] = backup.held.subtracting(excluded)
    files[device].formUnion(backup.files)
    uncertainFiles[device].formUnion(backup.uncertainFiles)
    uncertainFiles[device].subtract(files[device])
    freeFiles(device)
  }
}
