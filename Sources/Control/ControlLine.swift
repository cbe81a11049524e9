package import JSONDocument
package import Waymark
import WaymarkCare

/// A line that a client writes on the control socket: the name of a command, and its arguments.
package struct ControlRequest: Hashable, Codable, Sendable {
  package let command: String
  package var arguments: JSON

  package init(command: String, arguments: JSON) {
    self.command = command
    self.arguments = arguments
  }

  /// Parses a line; nil if it is not a request.
  package init?(line: [UInt8]) {
    guard let json = try? JSON.parse(line), let request = try? AnswerCoding.decode(Self.self, from: json)
    else { return nil }
    self = request
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    command = try container.decode(String.self, forKey: .command)
    arguments = try container.decodeIfPresent(JSON.self, forKey: .arguments) ?? [:]
    guard arguments.members != nil else {
      throw DecodingError.dataCorruptedError(
        forKey: .arguments, in: container, debugDescription: "no object")
    }
  }

  func line() -> [UInt8] {
    // A name and a document can always be encoded.
    ((try? AnswerCoding.encode(self)) ?? .null).bytes()
  }
}

/// A line that the node writes on the control socket: any number of events and signs of life, then the answer or a
/// failure.
enum ControlReply: Sendable {
  case event(CommandEvent)
  /// A sign of life: the node is responsive.
  case alive
  case result(JSON)
  case failure(WaymarkError)

  init(line: [UInt8]) throws {
    self = try AnswerCoding.decode(Self.self, from: try JSON.parse(line))
  }

  var line: [UInt8] {
    // Replies consist of values that can always be encoded.
    ((try? AnswerCoding.encode(self)) ?? .null).bytes()
  }
}

extension ControlReply: Codable {
  private enum CodingKeys: CodingKey {
    case type
    case event
    case document
  }

  private enum Kind: String, Codable {
    case event
    case alive
    case result
    case error
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .event(let event):
      try container.encode(Kind.event, forKey: .type)
      try container.encode(event, forKey: .event)
    case .alive: try container.encode(Kind.alive, forKey: .type)
    case .result(let answer):
      try container.encode(Kind.result, forKey: .type)
      try container.encode(answer, forKey: .document)
    case .failure(let failure):
      try container.encode(Kind.error, forKey: .type)
      try failure.encode(to: encoder)
    }
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    switch try container.decode(Kind.self, forKey: .type) {
    case .event: self = .event(try container.decode(CommandEvent.self, forKey: .event))
    case .alive: self = .alive
    case .result: self = .result(try container.decodeIfPresent(JSON.self, forKey: .document) ?? .null)
    case .error: self = .failure(try WaymarkError(from: decoder))
    }
  }
}

extension WaymarkError {
  /// The failure as one line of JSON, with the type `error`.
  package var line: JSON { (try? AnswerCoding.document(ControlReply.failure(self))) ?? .null }
}
