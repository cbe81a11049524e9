public import Platform
import Home

extension LocalizableText {
  /// The text in the language of the app, from the table `Waymark` of its main bundle; in English if the table has no
  /// translation.
  ///
  /// Such tables exist on Apple platforms. Elsewhere, use ``text(translatedBy:)``.
  public var localized: String { text(translatedBy: appTranslation) }
}

extension WaymarkError: LocalizedError {
  /// The message in the language of the app.
  public var errorDescription: String? { message.localized }

  /// What to do next, in the language of the app; nil if that is a command of the terminal.
  public var recoverySuggestion: String? {
    next?.plainText.map { "\(sentence: $0)." as LocalizableText }?.localized
  }
}
