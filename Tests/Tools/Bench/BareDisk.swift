import Foundation
import Platform
import Processes
import Synchronization

/// The time that the disk alone takes until a change is durable on one device and then on the others, which write at
/// the same time: as many bytes as a commit writes, to a log of fixed length, and `fdatasync`. Every figure that
/// involves a disk includes its slowest moments.
final class BareDisk {
  private let files: [Int32]
  private let folder: URL
  private static let block = [UInt8](repeating: 7, count: 32 << 10)
  private static let length = 4 << 20

  init(devices: Int, in stage: URL) throws {
    folder = stage.appending(path: "disk")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let zeros = [UInt8](repeating: 0, count: Self.length)
    files = try (0..<devices).map { [folder] number in
      let file = open(folder.appending(path: "\(number)").path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
      guard file >= 0, write(file, zeros, zeros.count) == zeros.count, syncFile(file) == 0 else {
        throw Self.failure
      }
      return file
    }
  }

  deinit {
    for file in files { close(file) }
    try? FileManager.default.removeItem(at: folder)
  }

  /// Milliseconds of each change, measured from the moment when it was due: a fixed interval after the last one,
  /// whether that was durable by then or not.
  func latencies(_ changes: Int, every seconds: Double) throws -> [Double] {
    var times: [Double] = []
    let first = now()
    while times.count < changes {
      let due = first + Double(times.count) * seconds
      while now() < due { usleep(100) }
      try makeDurable(at: times.count * Self.block.count % Self.length)
      times.append((now() - due) * 1e3)
    }
    return times
  }

  /// Durable here, and then on all others at once: each waits in a thread of its own, as it would in its own process.
  private func makeDurable(at offset: Int) throws {
    guard Self.isDurable(files[0], offset) else { throw Self.failure }
    let others = DispatchGroup()
    let failures = Atomic<Int>(0)
    for file in files.dropFirst() {
      others.enter()
      Thread.detachNewThread {
        if !Self.isDurable(file, offset) { failures.add(1, ordering: .relaxed) }
        others.leave()
      }
    }
    others.wait()
    guard failures.load(ordering: .relaxed) == 0 else { throw Self.failure }
  }

  private static func isDurable(_ file: Int32, _ offset: Int) -> Bool {
    pwrite(file, block, block.count, off_t(offset)) == block.count && syncData(file) == 0
  }

  private static var failure: Failure {
    Failure("the disk can't be measured: \(String(cString: strerror(errno)))")
  }
}

extension BareDisk {
  /// A row to print below the one that it explains.
  static func row(devices: Int, changes: Int, every seconds: Double, in stage: URL) throws -> Row {
    let times = try BareDisk(devices: devices, in: stage).latencies(changes, every: seconds)
    return Row("  the disk alone, right after that", times.quantile(0.99), "ms p99")
  }
}
