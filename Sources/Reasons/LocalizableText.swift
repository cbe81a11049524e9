/// Text for people that an app can translate: an English pattern and the values in it.
///
/// The pattern is the key of a translation. Translations can use the values in another order, as `%1$@` and `%2$@`:
///
/// ```swift
/// do {
///   try await node.serve(listen: "[::]:7433")
/// } catch let error as WaymarkError {
///   show(error.message.text { pattern in germanTexts[pattern] })
/// }
/// ```
///
/// Two texts are equal if they are the same in English.
public struct LocalizableText: Sendable {
  /// The English text with `%@` in place of each value, and `%%` in place of each percent sign.
  public private(set) var pattern: String
  /// The values, in the order in which the pattern has them.
  public private(set) var values: [Value]

  /// A value in a text.
  public enum Value: Hashable, Sendable {
    /// A name, a number or another value that is the same in every language.
    case verbatim(String)
    /// Text that is translated by itself.
    case text(LocalizableText)
    /// Text that is translated by itself, and then begins with a capital letter, unless it begins with a name.
    case sentence(LocalizableText)
  }

  /// Creates a text that has no translation, such as a message of the system.
  package init(verbatim text: String) { self.init("%@", [.verbatim(text)]) }

  /// Creates a text without values, such as the name of a kind of record, which is its own pattern.
  package init(word: String) { self.init(stringLiteral: word) }

  private init(_ pattern: String, _ values: [Value]) {
    self.pattern = pattern
    self.values = values
  }

  /// Returns the text with its patterns translated.
  ///
  /// - Parameter translation: returns the translation of a pattern; nil to use the English text.
  public func text(translatedBy translation: (_ pattern: String) -> String?) -> String {
    let values = values.map { value in
      switch value {
      case .verbatim(let text): text
      case .text(let text): text.text(translatedBy: translation)
      case .sentence(let text): text.sentence(translatedBy: translation)
      }
    }
    return Self.filled(translation(pattern) ?? pattern, with: values)
  }

  private func sentence(translatedBy translation: (_ pattern: String) -> String?) -> String {
    let clause = text(translatedBy: translation)
    return beginsWithName(translation) ? clause : clause.capitalizedFirst
  }

  /// Whether the translation begins with a value that is the same in every language.
  private func beginsWithName(_ translation: (_ pattern: String) -> String?) -> Bool {
    let beginning = (translation(pattern) ?? pattern).prefix { $0 != "@" }
    guard beginning.hasPrefix("%"), !beginning.hasPrefix("%%") else { return false }
    let first = Int(beginning.dropFirst().prefix { $0 != "$" }) ?? 1
    guard values.indices.contains(first &- 1) else { return false }
    switch values[first - 1] {
    case .verbatim: return true
    case .text(let text): return text.beginsWithName(translation)
    case .sentence: return false
    }
  }

  /// Replaces `%@`, `%2$@` and `%%`. Everything else after a percent sign stays, as does a place without a value: a
  /// faulty translation never fails.
  private static func filled(_ pattern: String, with values: [String]) -> String {
    var (result, rest, next) = ("", pattern[...], 0)
    while let percent = rest.firstIndex(of: "%") {
      result += rest[..<percent]
      let after = rest[percent...].dropFirst()
      let digits = after.prefix { $0.isASCII && $0.isNumber }
      if after.first == "%" {
        result += "%"
        rest = after.dropFirst()
      } else if after.first == "@", next < values.count {
        result += values[next]
        next += 1
        rest = after.dropFirst()
      } else if after[digits.endIndex...].hasPrefix("$@"), let place = Int(digits),
        values.indices.contains(place &- 1)
      {
        result += values[place - 1]
        rest = after[digits.endIndex...].dropFirst(2)
      } else {
        result += "%"
        rest = after
      }
    }
    return result + rest
  }

  package static func + (left: LocalizableText, right: LocalizableText) -> LocalizableText {
    LocalizableText(left.pattern + right.pattern, left.values + right.values)
  }
}

extension [LocalizableText] {
  /// Returns the texts in one text, each translated by itself.
  package func joined(separator: String) -> LocalizableText {
    enumerated().reduce("") { $0 + ($1.offset == 0 ? "\($1.element)" : "\(separator)\($1.element)") }
  }
}

extension LocalizableText: CustomStringConvertible {
  /// The text in English.
  public var description: String { text { _ in nil } }
}

extension LocalizableText: Hashable {
  public static func == (left: LocalizableText, right: LocalizableText) -> Bool {
    left.description == right.description
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(description) }
}

extension LocalizableText: ExpressibleByStringInterpolation {
  public init(stringLiteral text: String) { self.init(Self.escaped(text), []) }

  public init(stringInterpolation: StringInterpolation) {
    self.init(stringInterpolation.pattern, stringInterpolation.values)
  }

  /// Collects the pattern and the values of a literal.
  public struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var pattern = ""
    fileprivate var values: [Value] = []

    public init(literalCapacity: Int, interpolationCount: Int) {
      pattern.reserveCapacity(literalCapacity + 2 * interpolationCount)
      values.reserveCapacity(interpolationCount)
    }

    public mutating func appendLiteral(_ text: String) { pattern += LocalizableText.escaped(text) }

    /// Appends a value that is the same in every language.
    public mutating func appendInterpolation(_ value: some CustomStringConvertible) {
      append(.verbatim(value.description))
    }

    /// Appends the message of an error.
    public mutating func appendInterpolation(_ error: any Error) {
      append((error as? WaymarkError).map { .text($0.message) } ?? .verbatim("\(error)"))
    }

    /// Appends text that is translated by itself.
    public mutating func appendInterpolation(_ text: LocalizableText) { append(.text(text)) }

    /// Appends a clause as the beginning of a sentence, with a capital letter.
    public mutating func appendInterpolation(sentence clause: LocalizableText) { append(.sentence(clause)) }

    private mutating func append(_ value: Value) {
      pattern += "%@"
      values.append(value)
    }
  }

  private static func escaped(_ text: String) -> String {
    guard text.contains("%") else { return text }
    return text.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "%%")
  }
}

/// A text is encoded in English, as a string.
extension LocalizableText: Codable {
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }

  public init(from decoder: any Decoder) throws {
    self.init(word: try decoder.singleValueContainer().decode(String.self))
  }
}
