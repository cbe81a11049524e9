import Exchange

/// The formats of files of other applications, as they are typed.
package enum ExchangeNames {
  package static let imported = ExchangeFormat.imported.map(\.rawValue)
  package static let exported = ExchangeFormat.exported.map(\.rawValue)
}
