package import Replication

extension Kind {
  /// The fields with text that people write, names first: what a search compares. Fields with words from a list are left
  /// out, and so are keys and names of files that programs write.
  package var searchedFields: [Field] {
    let fields = fields.filter { field in
      field.type == .text && field.rule.words.isEmpty && !field.rule.isColor
        && !Self.unsearchedNames.contains(field.name)
    }
    return fields.filter { namingFields.contains($0.number) }
      + fields.filter { !namingFields.contains($0.number) }
  }

  /// The fields whose texts name a record.
  package var namingFields: [FieldNumber] {
    title.map { [$0] } ?? ["name", "fileName", "displayName", "key"].compactMap { field(named: $0)?.number }
  }

  private static let unsearchedNames: Set<String> = [
    "key", "suggestionId", "mimeType", "fileExtension", "cachedLogoFilename", "logoURL", "currentTimezone",
    "homeTimezone", "displayTimezoneMode", "otherKeys",
  ]
}
