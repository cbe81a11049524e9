import Platform
import Home
package import JSONDocument
import Model
import Records
import Waymark
import WaymarkCare
import Wire

/// The JSON form of answers: times as RFC 3339 in UTC, absent values as `null`.
package enum AnswerCoding {
  /// Encodes a value for the control socket. Commands in a `Step` stay separate values instead of becoming text.
  package static func encode(_ value: some Encodable) throws -> JSON {
    try DocumentCoding.encode(value, [.keepsSteps: true])
  }

  /// Encodes a value as the JSON document that `--json` prints. Next to each time, the document has it in UTC too.
  ///
  /// - Parameter home: the value of `--home` in suggested commands; nil to leave `--home` out.
  package static func document(_ value: some Encodable, home: String? = nil) throws -> JSON {
    UTCTimes.added(to: try DocumentCoding.encode(value, home.map { [.home: $0] } ?? [:]))
  }

  package static func decode<Value: Decodable>(_ type: Value.Type, from json: JSON) throws -> Value {
    try JSONValueDecoder { type, json in
      switch type {
      case is Date.Type:
        guard let text = json.string, let moment = WrittenTime(text)?.milliseconds else { return nil }
        return Date(milliseconds: moment)
      case is UUID.Type: return json.string.flatMap { UUID(uuidString: $0) }
      default: return nil
      }
    }.decode(type, from: json)
  }
}
