import Foundation
import JSONDocument
import Records
import Replication
import Storage
import Wire

// What both the command line and an application ask for stands in one place: the commands. Calls whose answers no
// view shows all the time read them from the document of the command, which is stable by contract.

extension Node {
  /// Carries out a command and reads its document.
  ///
  /// - Throws: `WaymarkError`, whatever went wrong.
  func typed<Answer: Decodable>(
    _ command: String, _ arguments: JSON = [:], events: @escaping @Sendable (JSON) -> Void = { _ in }
  ) async throws -> Answer {
    try await answer(CommandRequest(command, arguments), events: events).get().decoded()
  }

  /// Does something of a typed call; whatever goes wrong is a `WaymarkError`.
  @discardableResult
  func sayingWhy<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      try checkOpen()
      try foldDue()
      return try body()
    } catch {
      throw failure(error)
    }
  }

  /// As the other one, for what takes several slices of time.
  ///
  /// - Throws: `WaymarkError`, or `CancellationError`.
  @discardableResult
  func sayingWhy<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      try checkOpen()
      try foldDue()
      return try await body()
    } catch let error as CancellationError {
      throw error
    } catch {
      throw failure(error)
    }
  }
}

extension JSON {
  /// Reads a document into a type of the face.
  func decoded<Answer: Decodable>(as type: Answer.Type = Answer.self) throws -> Answer {
    do {
      return try Self.decoder.decode(type, from: Data(bytes()))
    } catch {
      throw WaymarkError.failed(
        "unexpected_answer", "The answer of the node can't be read: \(error).", next: "waymark version")
    }
  }

  private static var decoder: JSONDecoder {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .custom { decoder in
      let container = try decoder.singleValueContainer()
      guard let moment = WrittenTime(try container.decode(String.self))?.milliseconds else {
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "no time of RFC 3339")
      }
      return Date(milliseconds: moment)
    }
    return decoder
  }

  /// A file by its path.
  static func file(_ url: URL) -> JSON { .string(url.path(percentEncoded: false)) }

  static func file(_ url: URL?) -> JSON { url.map { file($0) } ?? .null }

  static func id(_ id: UUID?) -> JSON { .text(id?.uuidString.lowercased()) }
}

extension WorkProgress {
  init?(_ json: JSON) {
    guard json["type"]?.string == "progress", let stage = json["stage"]?.string else { return nil }
    func count(_ key: String) -> Int { json[key]?.integer.map { Int(clamping: $0) } ?? 0 }
    self.init(stage: stage, done: count("done"), total: count("total"))
  }

  /// Hears of events what is progress.
  static func events(_ progress: @escaping @Sendable (WorkProgress) -> Void) -> @Sendable (JSON) -> Void {
    { event in if let event = WorkProgress(event) { progress(event) } }
  }
}

// MARK: Times

extension Duration {
  /// Whole milliseconds, cut to what a number holds.
  package var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
    return overflow ? (seconds > 0 ? .max : .min) : product &+ attoseconds / 1_000_000_000_000_000
  }
}
