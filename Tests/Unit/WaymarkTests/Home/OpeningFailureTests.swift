import FileStore
import Foundation
import LogStorage
import Reasons
import SQLite
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Home
@testable import Waymark

/// The errors of a store that can't be opened, and those after which the store must be verified.
struct OpeningFailureTests {
  private let folder: Folder
  private let home: Home

  init() throws {
    folder = try Folder()
    home = Home(path: folder.file("home"))
    try home.prepare()
  }

  @Test
  func `each cause has its own code and words, and only a write that may be lost makes a store suspect`()
    throws
  {
    let own = ProcessInfo.processInfo.processIdentifier
    let cases: [(error: any Error, reason: Reason, words: String)] = [
      (CancellationError(), .cancelled, "nothing was changed"),
      (StoreError.storeIsHeld(by: own), .storeHeld, "already open in this process"),
      (StoreError.storeIsHeld(by: nil), .storeHeld, "in use by another process"),
      (StoreError.newerSchema(found: 99, known: 12), .newerStore, "schema 99, this one reads 12"),
      (StoreError.outdated, .outdatedStore, "another version of the app"),
      (StoreError.formerFormat, .formerFormat, "former format 1"),
      (StoreError.damaged("the reason"), .store, "can't be opened: it is damaged: the reason"),
      (StoreError.damagedSet(number: 3), .damagedSet, "a change set that is damaged"),
      (StoreError.lockFailed(errno: EACCES), .file, "its lock can't be acquired: permission denied"),
      (FileStoreError.full, .diskFull, "is full; nothing was written"),
      (SQLiteError.missingRow(of: "branches"), .store, "its file is damaged"),
      (FileStoreError.failed(5), .store, "can't be opened"),
    ]
    for (error, reason, words) in cases {
      let failure = WaymarkError.opening(home, error)
      #expect(failure.reason == reason, "\(error)")
      #expect(failure.message.description.contains(words), "\(failure.message)")
      #expect(failure.next != nil, "\(error)")
      #expect(!home.isSuspect, "\(error)")
    }
    let lost = WaymarkError.opening(home, SQLiteError.directoryNotSynced("no such device"))
    #expect(lost.reason == .storeBroken && lost.message.description.contains("no such device"))
    #expect(home.isSuspect)
    home.forgetSuspicion()
    #expect(!home.isSuspect)
  }

  @Test func `an error that has its words already keeps them, and reading is not called opening`() {
    #expect(WaymarkError.opening(home, WaymarkError.busy) == WaymarkError.busy)
    #expect(WaymarkError.reading(home, WaymarkError.closed) == WaymarkError.closed)
    let failure = WaymarkError.reading(home, StoreError.damaged("the reason"))
    #expect(failure.message.description.contains("can't be read: it is damaged: the reason"))
  }

  @Test func `a backup in place of the store is not called a damaged store, and the next step restores it`()
    async throws
  {
    let other = try Node.inMemory(name: "other")
    let file = folder.file("other.waymark")
    try await other.backUp(to: URL(filePath: file))
    await other.close()
    try FileManager.default.copyItem(atPath: file, toPath: home.store)
    let failure = WaymarkError.opening(home, SQLiteError.missingRow(of: "meta"))
    #expect(failure.reason == .isBackup)
    #expect(failure.next?.description.contains("waymark restore \(home.path)/backup.waymark") == true)
    #expect(!home.isSuspect)
    #expect(try bytes(home.store) == bytes(file))
  }
}
