import Foundation
import JSONDocument
import Processes
import Wire

/// The working folder, and the data that several measures share.
final class Stage {
  let options: Options
  let folder: URL
  private var nodes: [BenchNode] = []
  private var workloads: [String: Workload] = [:]

  init(_ options: Options) throws {
    self.options = options
    folder = FileManager.default.temporaryDirectory.appending(path: "waymark-bench-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  func remove() {
    for node in nodes { node.kill() }
    try? FileManager.default.removeItem(at: folder)
  }

  var machine: String {
    let text = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("model name") }
    let model = line?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) }
    return "\(ProcessInfo.processInfo.activeProcessorCount) cores, \(model ?? "unknown processor")"
  }

  /// Rows of a kind, written to files once.
  func workload(_ shape: Workload.Shape, _ rows: Int) throws -> Workload {
    let name = "\(shape)-\(rows)"
    if let made = workloads[name] { return made }
    let made = try Workload(shape, rows: rows, in: folder.appending(path: name))
    workloads[name] = made
    return made
  }

  // MARK: Nodes

  /// A home of its own, still without a store.
  func node(_ name: String) throws -> BenchNode {
    let node = BenchNode(name, self)
    try? FileManager.default.removeItem(at: node.home)
    nodes.append(node)
    return node
  }

  func forget(_ node: BenchNode) {
    node.kill()
    nodes.removeAll { $0 === node }
    try? FileManager.default.removeItem(at: node.home)
  }

  /// A circle of one device with premium and sync on.
  func founder(_ name: String) throws -> BenchNode {
    let node = try node(name)
    try node.command("init", "--name", name)
    let issuer = folder.appending(path: "issuer").path
    if !FileManager.default.fileExists(atPath: issuer) { try node.command("issuer", "init", issuer) }
    try node.command("issuer", "trust", issuer + ".pub")
    guard let circle = try node.document("status")["circle"]?.string else { throw Failure("no circle") }
    let entitlement = folder.appending(path: "entitlement-\(name)").path
    try node.command(
      "issuer", "issue", "--key", issuer, "--circle", circle, "--until", "2036-01-01", "--output", entitlement
    )
    try node.command("entitlement", "install", entitlement)
    try node.command("sync", "on")
    return node
  }

  /// A new member of the circle of a running node; it is not running itself yet.
  func member(_ name: String, of founder: BenchNode, syncs: Bool = true) throws -> BenchNode {
    let node = try node(name)
    let ticket = try founder.ask("invite")["ticket"]?.string ?? ""
    try node.command("join", ticket, "--name", name)
    if syncs { try node.command("sync", "on") }
    return node
  }
}

/// Seconds on the clock that all processes of the machine share.
func now() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

extension [Double] {
  /// A quantile: the value that this share of all values do not exceed; 0.5 is the median.
  func quantile(_ part: Double) -> Double {
    guard !isEmpty else { return .nan }
    let sorted = sorted()
    return sorted[Swift.min(sorted.count - 1, Int((part * Double(sorted.count)).rounded(.down)))]
  }

  var median: Double { quantile(0.5) }
}
