// Sources/store.md, "Looking inside"

import Records

/// SQL views for people who inspect the store. Each view contains the visible records of one kind, with ids and times
/// as text.
enum Views {
  static func sql(_ kind: Kind, _ schema: Schema) -> String {
    guard let view = kind.view else { return "" }
    var columns = ["\(uuid("r.id")) AS id"] + kind.fields.flatMap { Self.columns($0, isOfApp: kind.isOfApp) }
    var source = "\(kind.table) r"
    if kind.number == KindNumbers.trip {
      columns += [
        "coalesce(s.lodgings, 0) AS lodgings", "coalesce(s.transportations, 0) AS transportations",
        "coalesce(s.activities, 0) AS activities", "\(time("s.first_start")) AS first_start",
        "\(time("s.last_end")) AS last_end", "coalesce(s.totals, '[]') AS totals",
      ]
      source += " LEFT JOIN trip_summaries s ON s.trip = r.id"
    }
    return """
      CREATE VIEW \(view) AS SELECT
        \(columns.joined(separator: ", "))
      FROM \(source) WHERE \(schema.isVisible(kind, "r"));

      """
  }

  /// Returns the columns of a field. Those of an app's kind have the names that documents use, in quotes because an app
  /// may use any word.
  private static func columns(_ field: Field, isOfApp: Bool) -> [String] {
    zip(field.columns, 0...).map { column, index in
      let name = "r.\(column.name)"
      let shown = isOfApp ? "\"\(field.parts[index])\"" : column.name
      switch (field.type, index) {
      case (.timestamp, _), (.instant, 0), (.datedInstant, 0): return "\(time(name)) AS \(shown)"
      case (.uuid, _), (.reference, _), (.owner, 1): return "\(uuid(name)) AS \(shown)"
      default: return "\(name) AS \(shown)"
      }
    }
  }

  /// Returns an SQL expression that formats an id in upper case with hyphens, as in exported files.
  private static func uuid(_ column: String) -> String {
    let parts = [(1, 8), (9, 4), (13, 4), (17, 4), (21, 12)]
    let text = parts.map { "substr(hex(\(column)), \($0.0), \($0.1))" }.joined(separator: " || '-' || ")
    return "CASE WHEN \(column) IS NULL THEN NULL ELSE \(text) END"
  }

  private static func time(_ column: String) -> String {
    "strftime('%Y-%m-%dT%H:%M:%fZ', \(column) / 1000.0, 'unixepoch')"
  }
}
