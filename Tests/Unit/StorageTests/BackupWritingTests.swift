import Backups
import FileFormat
import FileStore
import Foundation
import LogStorage
import Records
import Replication
import SQLite
import Storage
import Testing
import Verification
import Wire

/// What a backup replaces, what it leaves behind when it fails, and how it is read in parts.
@Suite final class BackupWritingTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "writing-\(UUID().uuidString)")
    .path
  private let alice: Device
  private let about = BackupAbout(
    created: 1_777_795_200_123, program: "test 1", device: DeviceKey(Bytes32(1, 2, 3, 4)), name: "älice",
    kept: ["a": [1, 2], "node.b": [0], "c": [3]])

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    alice = try Device("alice", Store(path: "\(folder)/store.db"))
    for number in 1...5 {
      try alice.write(
        at: Moment(number), insert(trip(UInt64(number)), [1: .text("Trip \(number)")]))
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private var path: String { "\(folder)/alice.waymark" }

  private var content: Data? { FileManager.default.contents(atPath: path) }

  /// Files that a failed backup must not leave behind.
  private var leftovers: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { $0.hasSuffix(".new") }
  }

  @Test func `a backup replaces a file only on request, and is private and complete`() throws {
    let letter = Data("mine".utf8)
    try letter.write(to: URL(filePath: path))
    let failure = #expect(throws: BackupTargetError.self) { try alice.store.backup(to: path, about: about) }
    #expect(failure?.isThereAlready == true && failure?.isFull == false)
    #expect(content == letter && leftovers == [])
    let summary = try alice.store.backup(to: path, about: about, overwrites: true)
    #expect(summary.changeSets == 5 && summary.damaged == [] && summary.files == nil)
    #expect(summary.bytes == Int64(content?.count ?? 0) && leftovers == [])
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    let file = try BackupFile(path: path)
    #expect(file.about == about && file.changeSetCount == 5 && !file.holdsFiles && file.heldErases == [])
    #expect(try file.changeSetIDs() == Set(alice.known.map(\.id)))
  }

  @Test func `a backup that fails leaves the earlier one, and nothing of its own`() throws {
    _ = try alice.store.backup(to: path, about: about)
    let earlier = content
    try Connection(.file("\(folder)/store.db")).execute(
      "UPDATE change_sets SET signature = zeroblob(64) WHERE number = 2")
    #expect(throws: BackupDamageError.self) {
      try alice.store.backup(to: path, about: about, overwrites: true, allowsDamage: false)
    }
    #expect(content == earlier && leftovers == [])
    let failure = #expect(throws: BackupTargetError.self) {
      try alice.store.backup(to: "\(folder)/none/alice.waymark", about: about)
    }
    #expect(failure?.errno == ENOENT)
    #expect(try alice.store.backup(to: path, about: about, overwrites: true).damaged.map(\.sequence) == [2])
    #expect(content != earlier && leftovers == [])
  }

  @Test func `the progress of a backup grows to the number of sets and leaves, which does not change`() throws
  {
    var named: [EntryDraft] = [insert(lodging(9), [1: .bytes(id(1).bytes)])]
    for (number, count) in [(21, 300_000), (22, 70_000)] {
      let value = try alice.store.keep([UInt8](repeating: UInt8(number), count: count))
      let data = Kind.attachment.number("fileData")
      named.append(insert(attachment(UInt64(number)), [1: owner(lodging(9)), data: value]))
    }
    for draft in named { try alice.write(at: 10, draft) }
    var heard: [(done: Int64, total: Int64)] = []
    let summary = try alice.store.backup(to: path, about: about, holdsFiles: true) { heard.append(($0, $1)) }
    #expect(summary.files == 2 && summary.changeSets == 8)
    // 300,000 bytes are five leaves, and 70,000 are two.
    #expect(heard.allSatisfy { $0.total == 8 + 5 + 2 } && heard.first?.done == 8 && heard.last?.done == 15)
    #expect(zip(heard, heard.dropFirst()).allSatisfy { $0.done <= $1.done })
    heard = []
    _ = try alice.store.backup(to: path, about: about, overwrites: true) { heard.append(($0, $1)) }
    #expect(heard.last?.done == 8 && heard.last?.total == 8)
  }

  @Test(
    arguments: [(1, [1, 1, 1, 1, 1]), (2, [2, 2, 1]), (4, [4, 1]), (5, [5]), (6, [5])] as [(Int, [Int])])
  func `a backup is read in parts, each set once and in order`(count: Int, sizes: [Int]) throws {
    _ = try alice.store.backup(to: path, about: about)
    var parts: [[ChangeSetID]] = []
    try BackupFile(path: path).forEachPart(of: count) { part in
      parts.append(part.map { ChangeSetID(header: $0.header) })
    }
    #expect(parts.map(\.count) == sizes)
    #expect(Array(parts.joined()) == alice.known.map(\.id))
  }

  // MARK: Verified files

  @Test(arguments: [false, true])
  func `a file with other bytes or another length than its id says is named, and all are counted`(
    isShorter: Bool
  ) throws {
    let files = try (1...3).map { number in
      try #require(
        FileReference(try alice.store.keep([UInt8](repeating: UInt8(number), count: 70_000 * number))))
    }
    let total = 70_000 * (1 + 2 + 3)
    func verify(_ progress: (Int, Int) throws -> Void = { _, _ in }) throws -> (
      count: Int, damaged: [Bytes32]
    ) {
      try FileVerification.run(nextTo: "\(folder)/store.db", progress: progress)
    }
    var heard: [[Int]] = []
    let intact = try verify { heard.append([$0, $1]) }
    #expect(intact.count == 3 && intact.damaged == [])
    #expect(heard.count == 3 && heard.last == [total, total] && heard.allSatisfy { $0[1] == total })
    let id = files[1].id
    let place = "\(folder)/files/\(id.description.prefix(2))/\(id)"
    var bytes = try Data(contentsOf: URL(filePath: place))
    if isShorter { bytes.removeLast() } else { bytes[bytes.count - 1] ^= 1 }
    try bytes.write(to: URL(filePath: place))
    let damaged = try verify()
    #expect(damaged.count == 3 && damaged.damaged == [id.raw])
    try alice.store.files.remove(files[0])
    #expect(try verify().count == 2)
    // A person who has cancelled does not wait for the rest.
    var calls = 0
    #expect(throws: CancellationError.self) {
      try verify { _, _ in
        calls += 1
        throw CancellationError()
      }
    }
    #expect(calls == 1)
  }
}
