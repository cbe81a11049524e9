// Lists, names and examples of a kind, for everything that shows records of any kind.

import Replication
import Wire

/// By what a list of records is sorted; records without a value come last.
package enum ListOrder: Hashable, Sendable {
  /// By the field of this name; text regardless of case.
  case ascending(String)
  /// Trips by their own start, else by that of their first item.
  case tripStart
}

/// What status calls the number of records of a kind.
package struct CountName: Hashable, Sendable {
  /// As in documents: `habitLogs`.
  package let key: String
  /// As in sentences: `habit log`, `habit logs`.
  package let one: String
  package let many: String

  init(_ key: String, _ one: String, _ many: String) { (self.key, self.one, self.many) = (key, one, many) }
}

/// How the command line lists and explains records of a kind.
package struct KindListing: Sendable {
  package let columns: [ListColumn]
  /// What names a record in lists of several kinds.
  package let title: ListColumn.Content
  package let example: Example

  init(
    title: ListColumn.Content = .first(["name"]), columns: [ListColumn], example: Example
  ) {
    (self.title, self.columns, self.example) = (title, columns, example)
  }

  /// What help types for a record of the kind.
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
  /// On a narrow page it is cut to no less than this; nil for a column that is never cut.
  package let widthMin: Int?
  package let isRight: Bool
  package let content: Content

  init(_ heading: String, widthMin: Int? = nil, isRight: Bool = false, _ content: Content) {
    (self.heading, self.widthMin, self.isRight) = (heading, widthMin, isRight)
    self.content = content
  }

  /// What a cell shows, by the names that documents have.
  package enum Content: Sendable {
    /// The first that is there.
    case first([String])
    /// All that are there, with spaces between them.
    case all([String])
    case day(String)
    case minute(String)
    case money(String)
    /// Sums, one for each currency.
    case sums(String)
    case number(String)
    case bytes(String)
    /// Yes, unless it says no.
    case flag(String)
  }
}

extension Registry {
  /// The kinds that have commands of their own, in the order of help: last what belongs to records of several kinds.
  package static let listed: [Kind] = {
    let listed = kinds.filter { $0.listing != nil }
    return listed.filter { $0.parentKinds.count < 2 } + listed.filter { $0.parentKinds.count >= 2 }
  }()

  /// Whether a new habit counts something: it has a unit or a target.
  static func isCounted(_ habit: [FieldNumber: Value]) -> Bool {
    ["unitLabel", "dailyTarget"].contains { !(habit[Registry.habit.number($0)] ?? .null).isEmpty }
  }
}
