// Lists, names and examples of a kind, for all code that shows records of any kind.

import Replication
import Wire

/// A sort key of a list; records without a value come last.
package enum ListOrder: Hashable, Sendable {
  /// The field with this name; text regardless of case.
  case ascending(String)
  /// The start of a trip, or else of its first item.
  case tripStart
}

/// The names of a kind's count in status.
package struct CountName: Hashable, Sendable {
  /// The key in documents: `habitEntries`.
  package let key: String
  /// The nouns in sentences: `habit log`, `habit logs`.
  package let one: String
  package let many: String

  init(_ key: String, _ one: String, _ many: String) { (self.key, self.one, self.many) = (key, one, many) }
}

/// How the command line lists and explains records of a kind.
package struct KindListing: Sendable {
  package let columns: [ListColumn]
  /// The name of a record in lists of several kinds.
  package let title: ListColumn.Content
  package let example: Example

  init(
    title: ListColumn.Content = .first(["name"]), columns: [ListColumn], example: Example
  ) {
    (self.title, self.columns, self.example) = (title, columns, example)
  }

  /// The example record in help.
  package struct Example: Sendable {
    package let id: String
    package let adding: String
    package let change: String

    init(_ id: String, add adding: String, edit change: String) {
      (self.id, self.adding, self.change) = (id, adding, change)
    }
  }
}

/// One column of a list.
package struct ListColumn: Sendable {
  package let heading: String
  /// The width that a narrow terminal may truncate it to; nil for a column that is never truncated.
  package let widthMin: Int?
  package let isRight: Bool
  package let content: Content

  init(_ heading: String, widthMin: Int? = nil, isRight: Bool = false, _ content: Content) {
    (self.heading, self.widthMin, self.isRight) = (heading, widthMin, isRight)
    self.content = content
  }

  /// The content of a cell, by the field names of documents.
  package enum Content: Sendable {
    /// The first value that is present.
    case first([String])
    /// All values that are present, separated by spaces.
    case all([String])
    case day(String)
    case minute(String)
    case money(String)
    /// Sums, one per currency.
    case sums(String)
    case number(String)
    case bytes(String)
    /// Yes, unless the value is false.
    case flag(String)
  }
}

extension Registry {
  /// The kinds that have commands of their own, in the order of help: last what belongs to records of several kinds.
  package static let listed: [Kind] = {
    let listed = kinds.filter { $0.listing != nil }
    return listed.filter { $0.parentKinds.count < 2 } + listed.filter { $0.parentKinds.count >= 2 }
  }()

  /// Whether a new habit is numeric: it has a unit or a target.
  static func isCounted(_ habit: [FieldNumber: Value]) -> Bool {
    ["unitLabel", "dailyTarget"].contains { !(habit[Registry.habit.number($0)] ?? .null).isEmpty }
  }
}
