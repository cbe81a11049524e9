import Foundation
import JSONDocument
import Processes
import SQLite
import Wire

/// `make bench`: how fast the node is, relative to what a bare SQLite and a bare C pipeline do with the same rows on
/// the same machine in the same minutes.
@main
struct Bench {
  static func main() {
    ProcessSettings.countNoMemory()
    // Threads that poll for a change sleep for ten microseconds, not for sixty.
    try? Data("1000".utf8).write(to: URL(filePath: "/proc/self/timerslack_ns"))
    do {
      let words = CommandLine.arguments.dropFirst()
      if words.first == "growth" { return try Growth(words.dropFirst()).run() }
      let options = try Options(Array(words))
      let stage = try Stage(options)
      defer { stage.remove() }
      var table = Table(stage.machine)
      var failures = 0
      for measure in options.measures {
        progress("\(measure.rawValue) …")
        // A measure that fails does not stop the others.
        do { table.add(try measure.run(on: stage)) } catch {
          progress("  failed: \(error)")
          failures += 1
        }
      }
      print(table.text)
      if let path = options.report { try Data(table.json.bytes()).write(to: URL(filePath: path)) }
      if failures > 0 { throw Failure("\(failures) measures failed") }
    } catch {
      FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
      exit(1)
    }
  }
}

/// Prints progress on standard error.
func progress(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }

/// What to measure, and with how many records.
struct Options {
  var measures = Measure.allCases
  var rows = 100_000
  /// For the growth of one bulk transfer; 0 skips it.
  var manyRows = 1_000_000
  var rounds = 5
  /// The number and size of the attachments.
  var files = [
    FileShape(count: 100, bytes: 2_000_000), FileShape(count: 10, bytes: 100_000_000),
    FileShape(count: 10_000, bytes: 40_000),
  ]
  /// The command, built with optimization.
  var waymark = ""
  /// The folder of the C pipeline; without it its column stays empty.
  var pipeline: String?
  var report: String?

  init(_ words: [String]) throws {
    var rest = words[...]
    while let word = rest.popFirst() {
      guard let value = rest.popFirst() else { throw Failure("\(word) needs a value") }
      switch word {
      case "--only": measures = try value.split(separator: ",").map { try Measure.named(String($0)) }
      case "--rows": rows = try Self.number(value)
      case "--many": manyRows = try Self.number(value)
      case "--rounds": rounds = try Self.number(value)
      case "--files": files = try value.split(separator: ",").map { try FileShape($0) }
      case "--waymark": waymark = value
      // It is built in a folder of its own.
      case "--pipeline":
        pipeline = FileManager.default.fileExists(atPath: value) ? URL(filePath: value).path : nil
      case "--report": report = value
      default: throw Failure("unknown option \(word)")
      }
    }
    guard !waymark.isEmpty else { throw Failure("--waymark must give the path of the command") }
  }

  static func number(_ text: String) throws -> Int {
    guard let number = Int(text), number >= 0 else { throw Failure("\(text) is not a number") }
    return number
  }
}

/// A number of files of one size.
struct FileShape {
  let count: Int
  let bytes: Int

  init(count: Int, bytes: Int) { (self.count, self.bytes) = (count, bytes) }

  /// Reads a shape such as `100x2000000`.
  init(_ text: Substring) throws {
    let parts = text.split(separator: "x")
    guard parts.count == 2 else { throw Failure("\(text) is no COUNTxBYTES") }
    self.init(count: try Options.number(String(parts[0])), bytes: try Options.number(String(parts[1])))
  }
}

/// All measures, in the order of the table.
enum Measure: String, CaseIterable {
  case bulk, mixed, many, `import`, change, steady, difference, equal, start, lists, idle, mesh, line, files

  static func named(_ name: String) throws -> Measure {
    guard let measure = Measure(rawValue: name) else {
      throw Failure(
        "unknown measure \(name); choose from \(allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return measure
  }

  func run(on stage: Stage) throws -> [Row] {
    switch self {
    case .bulk: try BulkMeasure(stage, .logs).run()
    case .mixed: try BulkMeasure(stage, .mixed).run()
    case .many: try ManyMeasure(stage).run()
    case .import: try ImportMeasure(stage).run()
    case .change: try ChangeMeasure(stage).one()
    case .steady: try ChangeMeasure(stage).steady()
    case .difference: try DifferenceMeasure(stage).run()
    case .equal: try EqualMeasure(stage).run()
    case .start: try StartMeasure(stage).run()
    case .lists: try ListsMeasure(stage).run()
    case .idle: try IdleMeasure(stage).run()
    case .mesh: try MeshMeasure(stage, .mesh).run()
    case .line: try MeshMeasure(stage, .line).run()
    case .files: try FilesMeasure(stage).run()
    }
  }
}
