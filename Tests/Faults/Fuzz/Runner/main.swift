import Foundation
import FuzzTargets

/// libFuzzer's main loop. It is called from here because the package manager gives the executable's entry point a
/// different name from the one that libFuzzer's `main` has.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
  _ count: UnsafeMutablePointer<CInt>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

nonisolated(unsafe) private var chosen = FuzzTarget.all[0]

private func runOnce(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: bytes, count: count))
  switch chosen.body {
  case .immediate(let body):
    do { try body(input) } catch { fatalError("\(error)") }
  case .waiting(let body):
    let done = DispatchSemaphore(value: 0)
    Task.detached {
      do { try await body(input) } catch { fatalError("\(error)") }
      done.signal()
    }
    done.wait()
  }
  return 0
}

/// libFuzzer restarts this program for some of its work, and does not know that the first argument is a target.
private let inherited = "WAYMARK_FUZZ_TARGET"

private func arguments() -> [String] {
  var words = CommandLine.arguments
  if words.count > 1, words[1].hasPrefix("-"), let name = getenv(inherited) {
    words.insert(String(cString: name), at: 1)
  }
  return words
}

/// `Fuzz --list`, `Fuzz --seeds TARGET FOLDER`, or `Fuzz TARGET` followed by libFuzzer's own arguments.
private func run() throws -> CInt {
  let words = arguments()
  if words.count == 2, words[1] == "--list" {
    for target in FuzzTarget.all { print(target.name) }
    return 0
  }
  let isSeeding = words.count == 4 && words[1] == "--seeds"
  let name = words.count > 1 ? words[isSeeding ? 2 : 1] : ""
  guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
    print("There is no fuzz target \"\(name)\"; `Fuzz --list` lists them.")
    return 2
  }
  chosen = target
  if isSeeding {
    try writeSeeds(target, in: words[3])
    return 0
  }
  setenv(inherited, target.name, 1)
  var arguments = ([words[0]] + words.dropFirst(2)).map { strdup($0) }
  var count = CInt(arguments.count)
  arguments.append(nil)
  return arguments.withUnsafeMutableBufferPointer { buffer in
    guard var start = buffer.baseAddress else { return 2 }
    return runDriver(&count, &start, runOnce)
  }
}

private func writeSeeds(_ target: FuzzTarget, in folder: String) throws {
  for (number, seed) in try target.seeds().enumerated() {
    try Data(seed).write(to: URL(filePath: folder).appending(path: "seed-\(number)"))
  }
}

exit(try run())
