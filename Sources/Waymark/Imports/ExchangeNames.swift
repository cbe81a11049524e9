import Exchange
import Records

/// The formats of files of other applications, as they are typed.
package enum ExchangeNames {
  package static let imported = ExchangeFormat.imported.map(\.rawValue)
  package static let exported = ExchangeFormat.exported.map(\.rawValue)
}

/// The fields of the kinds of record, as they are typed.
package enum FieldNames {
  /// What `add` and `edit` of a kind take; empty if there is no such kind.
  package static func of(_ kind: String) -> [String] { Registry.kind(named: kind)?.assignableNames ?? [] }
}
