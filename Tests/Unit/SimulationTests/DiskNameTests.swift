import Testing
import VirtualDisk
import Wire

/// The virtual disk as a program sees it that keeps files of its own: names, room, failed syncs and damage.
@Suite struct DiskNameTests {
  /// The disk after a power loss of which nothing survives that was not synced.
  private func survivor(of disk: Disk) -> Disk {
    var random = SplitMix(seed: 1)
    return disk.afterPowerLoss(Survival(.nothing), &random)
  }

  /// Creates a file, durably.
  private func create(_ name: String, _ bytes: [UInt8], on disk: Disk) throws {
    try disk.create(name)
    try disk.write(bytes[...], to: name, at: 0)
    try disk.sync(name)
    try disk.syncDirectory(of: name)
  }

  @Test func `a file has its new name for good once the folder of that name is synced`() throws {
    let disk = Disk()
    try create("a/part", [1, 2, 3], on: disk)
    try disk.rename("a/part", to: "b/whole")
    #expect(disk.names == ["b/whole"])
    #expect(survivor(of: disk).names == ["a/part"])
    try disk.syncDirectory(of: "b/other")
    #expect(survivor(of: disk).names == ["a/part", "b/whole"])
    try disk.syncDirectory(of: "a/other")
    let after = survivor(of: disk)
    #expect(after.names == ["b/whole"] && after.content(of: "b/whole") == [1, 2, 3])
    // A file that replaces another one takes its name, and the other one is back if that is lost.
    try create("b/new", [4], on: disk)
    try disk.rename("b/new", to: "b/whole")
    #expect(disk.content(of: "b/whole") == [4])
    #expect(survivor(of: disk).content(of: "b/whole") == [1, 2, 3])
    try disk.syncDirectory(of: "b/whole")
    #expect(survivor(of: disk).content(of: "b/whole") == [4] && survivor(of: disk).names == ["b/whole"])
  }

  @Test func `two names of one file stay names of one file in a copy of the disk`() throws {
    let disk = Disk()
    try create("a", [1, 2], on: disk)
    try disk.link("a", as: "b")
    let copy = disk.copy()
    try copy.write([9], to: "a", at: 0)
    #expect(copy.content(of: "a") == [9, 2] && copy.content(of: "b") == [9, 2])
    #expect(disk.content(of: "a") == [1, 2] && disk.content(of: "b") == [1, 2])
    try disk.delete("a")
    #expect(disk.content(of: "b") == [1, 2] && copy.names == ["a", "b"])
  }

  @Test(arguments: [false, true])
  func `what a failed sync has lost is not made durable by the next one`(losesChanges: Bool) throws {
    let disk = Disk()
    try create("a", [1], on: disk)
    disk.faults.syncErrorsLoseChanges = losesChanges
    disk.faults.failure = DiskFaults.Failure(.inputOutput, at: [.sync], after: 0, lasts: false)
    try disk.write([2], to: "a", at: 0)
    #expect(throws: FileFault.inputOutput) { try disk.sync("a") }
    try disk.sync("a")
    #expect(disk.content(of: "a") == [2])
    let durable: [UInt8] = losesChanges ? [1] : [2]
    #expect(survivor(of: disk).content(of: "a") == durable)
    try disk.write([3], to: "a", at: 0)
    try disk.sync("a")
    #expect(survivor(of: disk).content(of: "a") == [3])
  }

  @Test func `on a full disk files can be overwritten, replaced and removed, and none can grow`() throws {
    let disk = Disk()
    disk.faults.capacity = 10
    try create("a", [UInt8](repeating: 1, count: 8), on: disk)
    #expect(disk.room == 2)
    #expect(throws: FileFault.noRoom) { try disk.write([2, 2, 2], to: "a", at: 8) }
    #expect(throws: FileFault.noRoom) { try disk.truncate("a", to: 11) }
    #expect(throws: FileFault.noRoom) { try disk.write("b", [3, 3, 3], synced: true) }
    #expect(disk.size(of: "a") == 8 && disk.names == ["a"])
    try disk.write([4, 4, 4, 4], to: "a", at: 6)
    #expect(disk.content(of: "a") == [1, 1, 1, 1, 1, 1, 4, 4, 4, 4] && disk.room == 0)
    try disk.write("a", [5, 5, 5, 5, 5, 5, 5, 5, 5, 5], synced: true)
    #expect(throws: FileFault.noRoom) { try disk.write("a", [UInt8](repeating: 6, count: 11), synced: true) }
    #expect(survivor(of: disk).content(of: "a") == [UInt8](repeating: 5, count: 10))
    try disk.delete("a")
    #expect(disk.room == 10)
    disk.faults.capacity = nil
    #expect(disk.room == nil)
  }

  @Test func `damage to a file is durable, and changes one bit or the end`() throws {
    let disk = Disk()
    try create("a", [0, 0, 0], on: disk)
    #expect(disk.flipBit(in: "a", byte: 1, bit: 3))
    #expect(!disk.flipBit(in: "a", byte: 3, bit: 0) && !disk.flipBit(in: "b", byte: 0, bit: 0))
    #expect(disk.content(of: "a") == [0, 8, 0] && survivor(of: disk).content(of: "a") == [0, 8, 0])
    disk.cutShort("a", to: 3)
    #expect(disk.size(of: "a") == 3)
    disk.cutShort("a", to: 2)
    #expect(disk.content(of: "a") == [0, 8] && survivor(of: disk).content(of: "a") == [0, 8])
  }
}
