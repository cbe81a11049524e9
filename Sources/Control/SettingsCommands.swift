package import JSONDocument
import Model
import Reasons
import Records
package import Waymark

/// `settings list`: all settings, and where their values come from.
package struct ListSettings: PromptCommand {
  package static let name = "settings.list"
  package var isReadOnly: Bool { true }

  package struct Answer: Codable, Sendable {
    package let settings: [ResolvedPreference]
    /// How many settings sync, and their size in bytes.
    package let keys: Int
    package let bytes: Int
    package let overLimit: Bool
  }

  package func perform(on node: isolated Node) throws -> Answer {
    let summary = try node.core.storedSettings.summary()
    return Answer(
      settings: summary.readings, keys: summary.count, bytes: summary.byteCount,
      overLimit: summary.isOverLimit)
  }
}

/// `settings get`: one setting.
package struct GetSetting: PromptCommand {
  package static let name = "settings.get"
  package typealias Answer = ResolvedPreference
  package var isReadOnly: Bool { true }

  package var key: String

  package func perform(on node: isolated Node) throws -> ResolvedPreference {
    guard let reading = try node.core.storedSettings.reading(key) else {
      throw WaymarkError.notFound("setting", key, next: .waymark("settings list"))
    }
    return reading
  }
}

/// `settings set`: sets a setting on all devices.
package struct SetSetting: PromptCommand {
  package static let name = "settings.set"

  package var key: String
  package var value: String

  package struct Answer: Codable, Sendable {
    package let key: String
    package let value: JSON
    package let changed: Bool
  }

  package func perform(on node: isolated Node) throws -> Answer {
    guard !value.isEmpty else {
      throw WaymarkError.badValue(
        key, value, allowed: "give a value, or remove the setting",
        next: .waymark("settings unset \(shellWord(key))"))
    }
    let value = try Preferences.value(of: value, for: key)
    return Answer(key: key, value: value.documentJSON, changed: try node.core.setSetting(key, to: value))
  }
}

/// `settings unset`: resets a setting to its default on all devices.
package struct UnsetSetting: PromptCommand {
  package static let name = "settings.unset"

  package var key: String

  package struct Answer: Codable, Sendable {
    package let key: String
    package let changed: Bool
  }

  package func perform(on node: isolated Node) throws -> Answer {
    Answer(key: key, changed: try node.core.unsetSetting(key))
  }
}
