import Foundation
import Platform
import Testing

@testable import Home

/// Files that are reported as written only once their names are durable. The test runs in a process of its own, since
/// it uses up every descriptor.
struct SyncedFolderTests {
  @Test func `a file in place whose folder can't be synced is not reported as written`() async {
    await #expect(processExitsWith: .success) {
      let isReported = try failsInPlace(.new) && failsInPlace(.replacing)
      exit(isReported ? 0 : 1)
    }
  }
}

/// Whether writing a file fails if no descriptor is left to sync its folder with, although the file is in place.
private func failsInPlace(_ placement: DurableFile.Placement) throws -> Bool {
  let folder = try Folder()
  let path = folder.file("device.key")
  if placement == .replacing { _ = try folder.write([1], "device.key") }
  guard let limits = LimitedResource.openFiles.limits else { return false }
  var code: Int32 = 0
  do throws(DurableFile.Trouble) {
    try DurableFile.put(path, mode: 0o600, placement, failure: { $0 }) {
      file throws(DurableFile.Trouble) in
      guard write(file, [2] as [UInt8], 1) == 1 else { throw DurableFile.Trouble(code: errno) }
      // The files that are open stay so.
      LimitedResource.openFiles.setLimits(current: 0, highest: limits.highest)
    }
  } catch {
    code = error.code
  }
  LimitedResource.openFiles.setLimits(current: limits.current, highest: limits.highest)
  return try code == EMFILE && bytes(path) == [2] && folder.names == ["device.key"]
}
