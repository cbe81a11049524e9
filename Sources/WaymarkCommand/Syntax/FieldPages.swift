import Console
import Records
import Waymark

/// The pages of `waymark help fields KIND`: the fields that `add` and `edit` accept, with their values.
enum FieldPages {
  /// The kinds that have such a page.
  static var kinds: [Kind] { Schema.known.listed + [Kind.profile] }

  /// The topics of these pages, as words after `waymark help`.
  static var topics: [[String]] { kinds.map { ["fields", $0.name] } }

  /// Returns the kind with a singular or plural name; nil if it has no page.
  static func kind(_ name: String) -> Kind? {
    kinds.first { $0.name == name || $0.plural == name } ?? (name == "log" ? Kind.habitEntry : nil)
  }

  static func write(_ kind: Kind, into page: inout Page) {
    page.line("Fields of \(kind.plural)")
    var table = TextTable([
      .init("FIELD"), .init("TYPE"), .init("DEFAULT"), .init("EXAMPLE"), .init("VALUES", widthMin: 12),
    ])
    table.wrapsLast = true
    let guides = kind.fieldGuides(.known)
    for guide in guides {
      table.rows.append([
        .init(guide.name, .strong), .init(guide.type), .init(guide.initial), .init(guide.example),
        .init(guide.values),
      ])
    }
    page.table(table)
    page.gap()
    let others = guides.filter { !$0.others.isEmpty }.map {
      "\($0.others.joined(separator: ", ")) for \($0.name)"
    }
    if !others.isEmpty { page.paragraph("Other names that are accepted: \(others.joined(separator: "; ")).") }
    page.paragraph("An empty value clears a field.")
  }
}
