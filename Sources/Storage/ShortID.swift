// Short ids: the last digits of an id, which are random. The first digits of the ids of records that were created
// within one minute are the same, because an id begins with the time of its creation.

import RecordTables
import Records
import SQLite
package import Wire

/// The short form of a record's id: its last digits, enough to tell it apart from all other records of a store.
package enum ShortID {
  /// The number of digits of a short id, unless more are needed to tell it apart.
  package static let digits = 8
  /// The smallest number of digits that are looked up at the end of ids; fewer are too likely to be a word.
  package static let digitsMin = 6

  /// Returns the last digits of an id, in upper case as in exported files.
  package static func text(_ id: RecordID, digits: Int = ShortID.digits) -> String {
    String(id.description.suffix(digits)).uppercased()
  }
}

extension Store {
  /// Returns the short ids of records. A short id has as many digits as tell it apart from every record of any kind,
  /// visible or not, so it does not depend on the list in which it is shown.
  package func shortIDs(of ids: some Sequence<RecordID>) throws -> [RecordID: String] {
    var texts: [RecordID: String] = [:]
    for id in ids where texts[id] == nil {
      texts[id] = ShortID.text(id, digits: max(ShortID.digits, try fold.digitsShared(by: id) + 1))
    }
    return texts
  }
}

/// Text without its differences of case and accents, as searches compare it.
package enum FoldedText {
  package static func of(_ text: String) -> String { foldedText(text) }

  package static func contains(_ text: String, _ part: String) -> Bool {
    foldedText(foldedText(text), contains: part)
  }
}
