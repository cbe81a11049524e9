import Backups
import Dispatch
import Foundation
import JSONDocument
import Membership
import Model
import Platform
import SQLite
import Storage
import Synchronization
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Home
@testable import Waymark

/// A process that creates or replaces the content of a home needs exclusive access.
struct HomeLockTests {
  private func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(filePath: path)) }

  @Test func `a home that another process is replacing is not opened until that has ended`() async throws {
    let home = try TestHome().home
    let first = try await Node.open(home, name: "old")
    await first.close()
    let staged = Home(path: home.staging)
    _ = try Node.initialize(home: staged, name: "new")
    let aside = try home.automaticBackup(before: "restore", at: 0, suffix: "")
    try Files.create(home.staging + "/ready", Array("other circle\n\(aside)\n".utf8), mode: 0o600)
    let before = try bytes(home.store)
    do {
      let lock = try HomeLock(home)
      defer { lock.release() }
      #expect(try await refusal { _ = try Node.open(home) } == "store_held")
      #expect(try bytes(home.store) == before)
      try home.finishReplacing(at: 0, under: lock)
    }
    let node = try await Node.open(home, name: "none")
    #expect(try await node.status().name == "new")
    await node.close()
    #expect(try bytes(aside + "/store.db") == before)
  }

  /// The moments when a process may end while files are replaced.
  enum Progress: CaseIterable { case nothing, oldMoved, newMoved }

  @Test(arguments: Progress.allCases)
  func `the files of a home are replaced together with its store, whenever the process ends`(
    _ progress: Progress
  ) async throws {
    let home = try TestHome().home
    let old = try await Node.open(home, name: "old")
    await old.close()
    let staged = Home(path: home.staging)
    _ = try Node.initialize(home: staged, name: "new")
    for (folder, name) in [(home.files, "old"), (staged.files, "new")] {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Data(name.utf8).write(to: URL(filePath: "\(folder)/\(name)"))
    }
    let aside = try home.automaticBackup(before: "restore", at: 0, suffix: "")
    try Files.create(home.staging + "/ready", Array("other circle\n\(aside)\n".utf8), mode: 0o600)
    if progress != .nothing {
      try FileManager.default.createDirectory(atPath: aside, withIntermediateDirectories: true)
      try FileManager.default.moveItem(atPath: home.files, toPath: aside + "/files")
    }
    if progress == .newMoved { try FileManager.default.moveItem(atPath: staged.files, toPath: home.files) }
    try home.finishReplacing(at: 0)
    #expect(try bytes(home.files + "/new") == Data("new".utf8))
    #expect(try bytes(aside + "/files/old") == Data("old".utf8))
    #expect(!FileManager.default.fileExists(atPath: home.files + "/old"))
  }

  @Test func `of several processes that create a node in one home one succeeds, and the others find it`()
    async throws
  {
    let home = try TestHome().home
    let made = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 6) { number in
      do {
        _ = try Node.initialize(home: home, name: "device \(number)")
        made.withLock { $0.append("made") }
      } catch {
        made.withLock { $0.append((error as? WaymarkError)?.code.rawValue ?? "\(error)") }
      }
    }
    let outcomes = made.withLock { $0 }
    #expect(outcomes.count { $0 == "made" } == 1)
    #expect(outcomes.allSatisfy { ["made", "already_there", "store_held"].contains($0) }, "\(outcomes)")
    let node = try await Node.open(home, name: "late")
    #expect(try await node.status().name.hasPrefix("device "))
    await node.close()
  }

  @Test func `keys without a store are kept when a new circle is founded`() async throws {
    let home = try TestHome().home
    let node = try await Node.open(home, name: "alice")
    await node.close()
    let keys = try [home.rootKey, home.deviceKey].map(bytes)
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: home.store + suffix) }
    let made = try Node.initialize(home: home, name: "alice")
    let aside = try #require(made.formerKeys)
    #expect(try ["root.key", "device.key"].map { try bytes("\(aside)/\($0)") } == keys)
    #expect(try bytes(home.rootKey) != keys[0])
    let again = try await Node.open(home, name: "alice")
    await again.close()
  }

  @Test func `during a join no change can be made that the join would miss`() async throws {
    let home = try TestHome().home
    let node = try await Node.open(home, name: "alice")
    _ = try await node.save(Trip(name: "Rome"))
    await node.close()
    let inviter = try SilentListener()
    let ticket = Ticket(
      circle: CircleID(Bytes32(1, 2, 3, 4)), transport: await node.identity.transportKey,
      addresses: [inviter.address], secret: random16(), expiry: systemWall() + 600_000)
    // The join gives up after some seconds, so a thread of its own opens the store as soon as the inviter is dialled.
    let opened = Mutex<String?>(nil)
    Thread.detachNewThread {
      guard inviter.waitForCaller(seconds: 60) else {
        return opened.withLock { $0 = "the inviter was not dialled" }
      }
      do {
        _ = try Node.open(home)
        opened.withLock { $0 = "opened" }
      } catch {
        opened.withLock { $0 = (error as? WaymarkError)?.code.rawValue ?? "\(error)" }
      }
    }
    let joining = Task { try await JoinOperation(home: home, ticket: ticket.line, name: "alice").join() }
    try await eventually("the store is opened during the join") { opened.withLock { $0 != nil } }
    #expect(opened.withLock(\.self) == "store_held")
    inviter.end()
    #expect(try await refusal { _ = try await joining.value } != nil)
    let again = try await Node.open(home, name: "alice")
    #expect(try await again.records(Trip.all).map(\.name) == ["Rome"])
    await again.close()
  }

  @Test func `a store without a circle is reported with an explanation`() async throws {
    let home = try TestHome().home
    let node = try await Node.open(home, name: "alice")
    await node.close()
    truncate(home.store, 0)
    do {
      _ = try Node.open(home)
      Issue.record("an empty store was opened")
    } catch let error as WaymarkError {
      #expect(error.reason == .store)
      #expect(error.message.description.contains("contains no circle"))
      #expect(error.next?.description.contains("waymark restore FILE") == true)
    }
    let present = try PresentStore(home)
    #expect(present.trouble?.description.contains("contains no circle") == true)
  }

  @Test func `the next start removes what an interrupted join or verification left`() async throws {
    let home = try TestHome().home
    let node = try await Node.open(home, name: "alice")
    await node.close()
    // No system has a process with this number.
    let abandoned = home.previewStaging + "999999999"
    let folders = [home.staging, home.scratch, abandoned, home.stagingForPreview.path]
    for folder in folders {
      try Files.makeFolder(folder)
      try Files.create(folder + "/store.db", Array("private".utf8), mode: 0o600)
    }
    try Files.makeFolder(home.backups)
    let partial = Store.partialBackup(of: home.backups + "/before-mirror-20260503T080000Z.waymark")
    let others = [
      home.backups + "/before-mirror.waymark", home.backups + "/mine.waymark.0123456789abcdef.new",
    ]
    for file in [partial] + others { try Files.create(file, [1], mode: 0o600) }
    let again = try await Node.open(home, name: "alice")
    await again.close()
    #expect(
      folders.filter(Files.exists) == [home.stagingForPreview.path], "a preview of this process goes on")
    #expect(!Files.exists(partial) && others.allSatisfy(Files.exists))
  }

  @Test func `a founding that was interrupted is repeated`() async throws {
    let home = try TestHome().home
    try Files.makeFolder(home.path)
    let staged = Home(path: home.staging)
    try staged.prepare()
    do { _ = try Store(path: staged.store) }
    try Files.create(staged.rootKey, Array("private".utf8), mode: 0o600)
    let node = try await Node.open(home, name: "alice")
    #expect(try await node.status().name == "alice")
    await node.close()
    #expect(!Files.exists(home.staging) && !Files.exists(home.backups))
  }

  @Test func `a copy of a store has what a reader has kept in its log`() async throws {
    let (home, other) = (try TestHome().home, try TestHome().home)
    let node = try await Node.open(home, name: "alice")
    let reader = try Connection(.existingFileReadOnly(home.store))
    try reader.execute("BEGIN")
    #expect(try reader.with("SELECT count(*) FROM change_sets") { try $0.step() })
    _ = try await node.save(Trip(name: "Rome"))
    await node.close()
    try other.prepare()
    do {
      let lock = try HomeLock(home)
      defer { lock.release() }
      try home.copyStore(to: other, under: lock)
    }
    try reader.execute("END")
    #expect(try StoreDiagnostics(path: other.store).changeSetIDs.count == 1)
  }

  @Test func `a backups path that is not a directory is reported`() async throws {
    let home = try TestHome().home
    let node = try await Node.open(home, name: "alice")
    await node.close()
    try? FileManager.default.removeItem(atPath: home.backups)
    try Files.create(home.backups, [], mode: 0o600)
    do {
      _ = try home.automaticBackup(before: "restore", at: 0)
      Issue.record("a file was taken for a folder")
    } catch let error as WaymarkError {
      #expect(error.message.description.contains("not a directory"))
    }
  }
}

/// Accepts connections and never sends anything.
private final class SilentListener: Sendable {
  private let descriptor: Int32
  let address: String

  init() throws {
    descriptor = openSocket(AF_INET, .stream)
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    let code = withUnsafeMutablePointer(to: &place) { place in
      place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 8) == 0
          && getsockname(descriptor, $0, &length) == 0
      }
    }
    try #require(code)
    address = "127.0.0.1:\(UInt16(bigEndian: place.sin_port))"
  }

  /// Returns whether a connection arrives in time. It is never accepted or answered.
  func waitForCaller(seconds: Int32) -> Bool {
    var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&wanted, 1, seconds * 1_000) > 0
  }

  func end() { close(descriptor) }
}
