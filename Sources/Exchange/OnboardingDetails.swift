import JSONDocument
import Records
import Wire

/// What Ritualist remembers about a person's onboarding. Each detail is a setting, so that it reaches all devices of a
/// person without premium, as the flag does.
enum OnboardingDetails {
  /// The key of the object in a file.
  static let key = "onboarding"

  /// One detail: its key in the file, and the setting that holds it.
  struct Detail {
    /// The type of a detail. A time is stored as text, as a person types it.
    enum Content {
      case flag, time, text
    }

    let key: String
    let setting: String
    let content: Content

    /// Returns the value in a row; nil if it is missing.
    func value(_ row: Row) throws(RowError) -> Value? {
      switch content {
      case .flag: try row.bool(key).map(Value.bool)
      case .time: try row.time(key).map { .text(timeText(milliseconds: $0)) }
      case .text: try row.text(key).map(Value.text)
      }
    }

    /// Returns the setting with a value.
    func draft(_ value: Value) -> RecordDraft {
      let kind = Kind.setting
      return RecordDraft(
        kind, RecordID(kind: kind, key: setting),
        [kind.number("key"): .text(setting), kind.number("value"): value])
    }

    /// Returns the members of the file for the value that the setting has; empty if it has none of this type.
    func members(in source: ExportSource) -> [JSON.Member] {
      let held = source.record(Kind.setting, RecordID(kind: Kind.setting, key: setting))?.held("value")
      switch (content, held) {
      case (.flag, .bool(let flag)?): return [.init(key, .bool(flag))]
      case (.time, .text(let text)?): return WrittenTime(text)?.milliseconds.map { fileTimes(key, $0) } ?? []
      case (.text, .text(let text)?): return [.init(key, .string(text))]
      default: return []
      }
    }
  }

  /// Whether the onboarding was completed, which other code uses too.
  static let flag = Detail(key: "isCompleted", setting: "hasCompletedOnboarding", content: .flag)
  static let settings = [
    flag, Detail(key: "completedDate", setting: "onboardingCompletedDate", content: .time),
    Detail(key: "userName", setting: "onboardingUserName", content: .text),
    Detail(key: "hasGrantedNotifications", setting: "hasGrantedNotifications", content: .flag),
  ]
}
