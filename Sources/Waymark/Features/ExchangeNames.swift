import Exchange

/// The formats of files of other applications, as they are typed.
public enum ExchangeNames {
  public static let imported = ExchangeFormat.imported.map(\.rawValue)
  public static let exported = ExchangeFormat.exported.map(\.rawValue)
}
