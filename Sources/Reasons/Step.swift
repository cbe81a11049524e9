/// The next step after an answer or an error: text in which `waymark` commands are separate values.
///
/// ```swift
/// let step: Step = "\(waymark: "run", on: "phone"); if it is lost: \(waymark: "revoke phone")"
/// ```
///
/// Commands become text only when the step is displayed. Commands for this device then include `--home` if the user
/// gave it.
public struct Step: Hashable, Sendable {
  /// A piece of a step.
  public enum Part: Hashable, Sendable {
    /// Words.
    case text(LocalizableText)
    /// The words to type after `waymark`, and the device to type them on; nil for this device.
    case command(String, on: String?)
  }

  /// The pieces, in reading order.
  public private(set) var parts: [Part]

  package init(_ parts: [Part]) { self.parts = parts }

  /// Creates a step that contains no command.
  package init(_ text: LocalizableText) { parts = [.text(text)] }

  /// Returns a step that is a single command: the words to type after `waymark`, and the device to type them on; nil
  /// for this device.
  package static func waymark(_ words: String, on device: String? = nil) -> Step {
    Step([.command(words, on: device)])
  }

  /// Returns the step as a sentence without a final period.
  ///
  /// - Parameters:
  ///   - home: the value of `--home` for commands on this device; nil if it was not given.
  ///   - row: the device whose table row shows this step; its name is not repeated.
  package func text(home: String?, inRowOf row: String? = nil) -> String {
    parts.map { part in
      switch part {
      case .text(let text): return text.description
      case .command(let words, let device?):
        return "waymark \(words), " + (device == row ? "there" : "on \(device)")
      case .command(let words, nil):
        guard let home, !Self.needNoHome.contains(String(words.prefix { $0 != " " })) else {
          return "waymark \(words)"
        }
        return "waymark --home \(shellWord(home)) \(words)"
      }
    }.joined()
  }

  /// The step as a clause without a final period, if it has no command; otherwise nil. An app can show it.
  public var plainText: LocalizableText? {
    parts.reduce("" as LocalizableText?) { text, part in
      guard let text, case .text(let more) = part else { return nil }
      return text + more
    }
  }

  /// Returns a copy of the step with every piece of text and every command transformed.
  package func mapText(_ transform: (String) -> String) -> Step {
    Step(
      parts.map { part in
        switch part {
        case .text(let text): .text(LocalizableText(verbatim: transform(text.description)))
        case .command(let words, let device): .command(transform(words), on: device)
        }
      })
  }

  private static let needNoHome: Set<String> = ["help", "version", "--home"]

  package static func + (left: Step, right: Step) -> Step { Step(left.parts + right.parts) }
}

extension Step: CustomStringConvertible {
  public var description: String { text(home: nil) }
}

extension Step: ExpressibleByStringInterpolation {
  public init(stringLiteral text: String) { parts = [.text(LocalizableText(stringLiteral: text))] }

  public init(stringInterpolation: StringInterpolation) { parts = stringInterpolation.parts }

  /// Collects the pieces of a literal.
  public struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var parts: [Part] = []

    public init(literalCapacity: Int, interpolationCount: Int) {}

    public mutating func appendLiteral(_ text: String) {
      if !text.isEmpty { append(LocalizableText(stringLiteral: text)) }
    }

    /// Appends a value that is the same in every language.
    public mutating func appendInterpolation(_ value: some CustomStringConvertible) { append("\(value)") }

    /// Appends text that is translated by itself.
    public mutating func appendInterpolation(_ text: LocalizableText) { append("\(text)") }

    private mutating func append(_ text: LocalizableText) {
      if case .text(let before) = parts.last {
        parts[parts.count - 1] = .text(before + text)
      } else {
        parts.append(.text(text))
      }
    }

    /// Appends another step.
    public mutating func appendInterpolation(_ step: Step) { parts += step.parts }

    /// Appends a command: the words to type after `waymark`, and the device to type them on; nil for this device.
    public mutating func appendInterpolation(waymark words: String, on device: String? = nil) {
      parts.append(.command(words, on: device))
    }
  }
}

/// A step is encoded as a string. On the control socket its commands stay separate values, because only the client
/// knows the value of `--home`.
extension Step: Codable {
  public func encode(to encoder: any Encoder) throws {
    guard encoder.userInfo[.keepsSteps] as? Bool == true else {
      var container = encoder.singleValueContainer()
      return try container.encode(text(home: encoder.userInfo[.home] as? String))
    }
    var container = encoder.unkeyedContainer()
    for part in parts {
      switch part {
      case .text(let text): try container.encode(text)
      case .command(let words, let device): try container.encode(Command(waymark: words, on: device))
      }
    }
  }

  public init(from decoder: any Decoder) throws {
    if let text = try? decoder.singleValueContainer().decode(String.self) {
      parts = [.text(LocalizableText(verbatim: text))]
      return
    }
    var container = try decoder.unkeyedContainer()
    parts = []
    while !container.isAtEnd {
      if let text = try? container.decode(String.self) {
        parts.append(.text(LocalizableText(verbatim: text)))
      } else {
        let command = try container.decode(Command.self)
        parts.append(.command(command.waymark, on: command.on))
      }
    }
  }

  private struct Command: Codable {
    let waymark: String
    let on: String?
  }
}

extension CodingUserInfoKey {
  /// The `--home` of commands for this device, as a string.
  package static let home = named("waymark.home")
  /// Whether commands in steps are encoded as values.
  package static let keepsSteps = named("waymark.steps")

  private static func named(_ name: String) -> CodingUserInfoKey {
    guard let key = CodingUserInfoKey(rawValue: name) else { preconditionFailure("a key without a name") }
    return key
  }
}
