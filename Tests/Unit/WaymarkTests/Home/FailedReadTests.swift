import Foundation
import Testing

@testable import Home

/// A file that the system stops reading.
struct FailedReadTests {
  @Test(arguments: [0, 3])
  func `a read that fails ends with its error, however much came before`(before: Int) {
    var room = [UInt8](repeating: 0, count: 8)
    var calls = 0
    var code: Int32 = 0
    room.withUnsafeMutableBytes { room in
      do {
        _ = try DurableFile.readAll(room) { bytes, _ in
          calls += 1
          if calls <= before {
            bytes.storeBytes(of: 7, as: UInt8.self)
            return 1
          }
          // If the failure were not noticed, this would be the end of the file.
          guard calls == before + 1 else { return 0 }
          errno = EIO
          return -1
        }
      } catch {
        code = (error as? DurableFile.Trouble)?.code ?? -1
      }
    }
    #expect(code == EIO && calls == before + 1)
  }
}
