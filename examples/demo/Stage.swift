import Foundation
import Synchronization

/// The demo's temporary folder and all of its processes. The folder is removed and the processes are killed at the end,
/// however the demo ends.
final class Stage: Sendable {
  let folder: URL
  /// The path of the `waymark` program, which is built in the same directory as this program.
  let waymark: URL
  private let state = Mutex(State())

  private struct State {
    var children: [Int32] = []
    /// The name of the first device whose node ended without being asked to; nil if there is none.
    var lost: String?
    var isOver = false
  }

  init() throws {
    let program = URL(filePath: Bundle.main.executablePath ?? CommandLine.arguments[0])
    waymark = program.deletingLastPathComponent().appending(path: "waymark")
    guard FileManager.default.isExecutableFile(atPath: waymark.path) else {
      throw Failure("\(waymark.path) does not exist; `make demo` builds it")
    }
    folder = FileManager.default.temporaryDirectory.appending(path: "waymark-demo-\(getpid())")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  /// Makes the demo end on a signal, or after a number of seconds.
  func endsAfter(seconds: Int) {
    for number in [SIGINT, SIGTERM, SIGHUP] {
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { @Sendable [self] in leave("interrupted", code: 130) }
      source.resume()
      // Keeps the source alive, because Dispatch cancels a source that is no longer referenced.
      _ = Unmanaged.passRetained(source as AnyObject)
    }
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds)) { @Sendable [self] in
      leave("the demo took more than \(seconds) seconds", code: 1)
    }
  }

  private func leave(_ why: String, code: Int32) {
    guard claimEnd() else { return }
    FileHandle.standardError.write(Data("\n   ✗ demo failed: \(why)\n".utf8))
    clear()
    exit(code)
  }

  /// Reports whether the caller may end the program. Returns true only to the first caller.
  func claimEnd() -> Bool {
    state.withLock { state in
      defer { state.isOver = true }
      return !state.isOver
    }
  }

  func started(_ process: Int32) { state.withLock { $0.children.append(process) } }

  func ended(_ process: Int32) { state.withLock { $0.children.removeAll { $0 == process } } }

  func lost(_ node: String) { state.withLock { $0.lost = $0.lost ?? node } }

  /// Fails if a node has ended unexpectedly.
  func checkNodes() throws {
    if let lost = state.withLock({ $0.lost }) { throw Failure("the node of \(lost) ended unexpectedly") }
  }

  /// Kills the remaining processes and removes the folder.
  func clear() {
    for process in state.withLock({ $0.children }) { kill(process, SIGKILL) }
    // A process that was just killed may still have been writing, so removal can fail at first.
    for _ in 0..<20 {
      try? FileManager.default.removeItem(at: folder)
      if !FileManager.default.fileExists(atPath: folder.path) { return }
      usleep(50_000)
    }
  }

  /// Writes a file to the folder and returns its path.
  func write(_ bytes: [UInt8], _ name: String) throws -> String {
    let file = folder.appending(path: name)
    try Data(bytes).write(to: file)
    return file.path
  }
}
