import Foundation
import JSONDocument
import Processes
import Wire

/// `make growth`: how rate, memory, bytes and latency change as records, authors and nodes grow in number.
struct Growth {
  private var parts = Part.allCases
  private var records = [1_000, 10_000, 100_000]
  private var authors = [2, 8, 32, 64]
  private var nodes = [2, 4, 8, 16, 64, 256, 1_000]
  /// Milliseconds from one simulated node to another.
  private var hop = 10
  private var rounds = 3
  private var waymark = ""
  private var report: String?

  private enum Part: String, CaseIterable { case records, authors, nodes }

  init(_ words: ArraySlice<String>) throws {
    var rest = words
    while let word = rest.popFirst() {
      guard let value = rest.popFirst() else { throw Failure("\(word) needs a value") }
      switch word {
      case "--only": parts = try value.split(separator: ",").map { try Self.part(String($0)) }
      case "--records": records = try Self.sizes(value)
      case "--authors": authors = try Self.sizes(value)
      case "--nodes": nodes = try Self.sizes(value)
      case "--hop": hop = try Self.sizes(value).first ?? hop
      case "--rounds": rounds = try Self.sizes(value).first ?? rounds
      case "--waymark": waymark = value
      case "--report": report = value
      default: throw Failure("unknown option \(word)")
      }
    }
    guard !waymark.isEmpty else { throw Failure("--waymark must give the path of the command") }
  }

  private static func part(_ name: String) throws -> Part {
    guard let part = Part(rawValue: name) else {
      throw Failure(
        "unknown part \(name); choose from \(Part.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return part
  }

  private static func sizes(_ text: String) throws -> [Int] {
    try text.split(separator: ",").map {
      guard let number = Int($0), number > 0 else { throw Failure("\($0) is not a number above zero") }
      return number
    }
  }

  func run() throws {
    let stage = try Stage(try Options(["--waymark", waymark, "--rounds", "\(rounds)"]))
    defer { stage.remove() }
    var grids: [Grid] = []
    for part in parts { grids += try self.grids(of: part, on: stage) }
    print(([stage.machine] + grids.map(\.text)).joined(separator: "\n\n"))
    guard let report else { return }
    let document: JSON = ["machine": .string(stage.machine), "tables": .array(grids.map(\.json))]
    try Data(document.bytes()).write(to: URL(filePath: report))
  }

  private func grids(of part: Part, on stage: Stage) throws -> [Grid] {
    switch part {
    case .records: [try RecordGrowth(stage).grid(records)]
    case .authors: try AuthorGrowth(rounds).grids(authors)
    case .nodes: try NodeGrowth.grids(nodes, hopMilliseconds: hop)
    }
  }
}
