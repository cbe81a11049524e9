// Describes how records of each kind are listed, named and explained, for code that shows records of any kind.

import Replication
import Wire

/// One sort key of a list; records that have no value for it come last.
package enum ListOrder: Hashable, Sendable {
  /// Sorts by the field with this name, in ascending order; text is compared regardless of case.
  case ascending(String)
  /// Sorts trips by their start date or, if a trip has none, by the start of its first item.
  case tripStart
}

/// The names under which status shows the number of records of a kind.
package struct CountName: Hashable, Sendable {
  /// The key of the count in JSON documents: `habitEntries`.
  package let key: String
  /// The singular noun for sentences: `habit entry`. The plural is `many`.
  package let one: String
  package let many: String

  init(_ key: String, _ one: String, _ many: String) { (self.key, self.one, self.many) = (key, one, many) }
}

/// How the command line lists and explains records of a kind.
package struct KindListing: Sendable {
  package let columns: [ListColumn]
  /// The content that names a record in a list of records of several kinds.
  package let title: ListColumn.Content
  package let example: Example

  init(
    title: ListColumn.Content = .first(["name"]), columns: [ListColumn], example: Example
  ) {
    (self.title, self.columns, self.example) = (title, columns, example)
  }

  /// The example record in the help texts.
  package struct Example: Sendable {
    package let id: String
    package let adding: String
    package let change: String
    /// The arguments of the example of `list`.
    package let filter: String
    /// Values of fields, quoted for a shell, that would not suit a record of another kind.
    private let values: [String: String]

    init(
      _ id: String, add adding: String, edit change: String, list filter: String = "--sort -name",
      values: [String: String] = [:]
    ) {
      (self.id, self.adding, self.change, self.filter) = (id, adding, change, filter)
      self.values = values
    }

    /// Returns the value of a field in the example record; nil if any value is as good.
    func value(of field: String) -> String? { field == "name" ? id : values[field] }
  }
}

/// One column of a list.
package struct ListColumn: Sendable {
  package let heading: String
  /// The smallest width to which the column may be truncated in a narrow terminal; nil for a column that is never
  /// truncated.
  package let widthMin: Int?
  package let isRight: Bool
  package let content: Content

  init(_ heading: String, widthMin: Int? = nil, isRight: Bool = false, _ content: Content) {
    (self.heading, self.widthMin, self.isRight) = (heading, widthMin, isRight)
    self.content = content
  }

  /// The content of a cell; fields are named as in JSON documents.
  package enum Content: Sendable {
    /// The first of these fields' values that is present.
    case first([String])
    /// All of these fields' values that are present, separated by spaces.
    case all([String])
    case day(String)
    case minute(String)
    /// The end of something that begins at the time in the second field.
    case end(String, start: String)
    case money(String)
    /// The sums of costs, one for each currency.
    case sums(String)
    case number(String)
    case bytes(String)
    /// Where the file of a blob field is.
    case file(String)
    /// A yes or no.
    case flag(String, ifAbsent: Bool)
  }
}

extension Kind {
  /// Reports whether a new habit is numeric, that is, has a unit or a daily target.
  static func isCounted(_ habit: [FieldNumber: Value]) -> Bool {
    ["unitLabel", "dailyTarget"].contains { !(habit[Kind.habit.number($0)] ?? .null).isEmpty }
  }
}
