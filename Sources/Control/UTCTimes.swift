import JSONDocument
import Records
import Waymark

/// Adds to a document each time a second time, in UTC and in whole seconds: `startUTC` next to `start`.
///
/// Times keep the offset of their place and their milliseconds, which many tools can't read; `fromdate` in jq, for
/// example, reads only the second form. Values are recognised by their form, because a record's values arrive from a
/// running node as JSON. The fields in which people write any text are left out.
enum UTCTimes {
  static func added(to json: JSON) -> JSON {
    switch json {
    case .array(let items): .array(items.map(added))
    case .object(let members): .object(members.flatMap(added))
    default: json
    }
  }

  /// The key of the time in UTC that belongs to a key.
  static func key(for key: String) -> String { key + "UTC" }

  private static func added(to member: JSON.Member) -> [JSON.Member] {
    let key = member.key
    switch member.value {
    case .string(let text):
      guard isTime(text), !textFields.contains(key), let moment = WrittenTime(text)?.milliseconds else {
        return [member]
      }
      return [member, .init(self.key(for: key), .string(timeText(milliseconds: wholeSecond(moment))))]
    case .null: return timeFields.contains(key) ? [member, .init(self.key(for: key), .null)] : [member]
    case .array, .object: return [.init(key, added(to: member.value))]
    default: return [member]
    }
  }

  /// Whether a text has the form of a time, such as `2026-05-03T15:00:00+02:00`. Rejects most texts quickly, because
  /// a list can have many thousands of them.
  private static func isTime(_ text: String) -> Bool {
    let bytes = text.utf8
    return (20...35).contains(bytes.count)
      && bytes[bytes.index(bytes.startIndex, offsetBy: 10)] == UInt8(ascii: "T")
      && bytes[bytes.index(bytes.startIndex, offsetBy: 4)] == UInt8(ascii: "-")
  }

  private static let textFields = names { $0 == .text || $0 == .any ? $0.columnTypes.count : 0 }

  private static let timeFields = names { type in
    switch type {
    case .timestamp, .instant, .datedInstant: 1
    default: 0
    }
  }

  /// The names of the fields in documents. `count` returns how many of the first parts of a field belong to the set.
  private static func names(_ count: (FieldType) -> Int) -> Set<String> {
    Set(Schema.builtIn.kinds.flatMap(\.fields).flatMap { $0.parts.prefix(count($0.type)) })
  }
}
