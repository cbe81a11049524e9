import Foundation
package import JSONDocument
import Records
import Wire

/// How answers look as JSON: times as RFC 3339 in UTC, nothing as `null`.
package enum AnswerCoding {
  /// - Parameter home: the home that steps of this device have to name; nil for the one that is meant anyway.
  package static func encode(_ value: some Encodable, home: String? = nil) throws -> JSON {
    var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    if let home { userInfo[.home] = home }
    return try JSONValueEncoder(userInfo: userInfo) { value in
      switch value {
      case let date as Date: .string(CivilTime.text(date.milliseconds))
      case let id as UUID: .string(id.uuidString)
      case let url as URL: .string(url.isFileURL ? url.path(percentEncoded: false) : url.absoluteString)
      default: nil
      }
    }.encode(value)
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

extension CodingUserInfoKey {
  /// The home that steps of this device name.
  static var home: CodingUserInfoKey {
    guard let key = CodingUserInfoKey(rawValue: "waymark.home") else {
      preconditionFailure("a key that is empty")
    }
    return key
  }
}
