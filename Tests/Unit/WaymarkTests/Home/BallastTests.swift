import Foundation
import Home
import Testing

@testable import Waymark

/// Space reserved on the disk, and the part of it that is used for notes on a full disk.
struct BallastTests {
  @Test func `a full disk takes all but two notes, one after another`() throws {
    let folder = try Folder()
    let ballast = Ballast(Home(path: folder.path))
    ballast.hold()
    guard let whole = size(folder) else { return }  // A full disk has no room for a ballast.
    #expect(whole > 128 * 1024)
    ballast.hold()
    #expect(size(folder) == whole)
    ballast.shrinkToReserve()
    ballast.shrinkToReserve()
    #expect(size(folder) == 128 * 1024)
    #expect(ballast.releaseReserve())
    #expect(size(folder) == 64 * 1024)
    #expect(ballast.releaseReserve())
    #expect(size(folder) == nil)
    #expect(!ballast.releaseReserve())
    ballast.hold()
    ballast.shrinkToReserve()
    // Once there is room the ballast is complete again.
    ballast.hold()
    #expect(size(folder) == whole)
    #expect(ballast.releaseReserve())
    #expect(size(folder) == 64 * 1024)
  }

  private func size(_ folder: Folder) -> Int? {
    let attributes = try? FileManager.default.attributesOfItem(atPath: folder.path + "/ballast")
    return attributes?[.size] as? Int
  }
}
