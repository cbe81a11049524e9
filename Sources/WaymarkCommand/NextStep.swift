import JSONDocument
import Waymark

extension Invocation {
  /// The failure with a next step, and one that means the home that was typed.
  func completing(_ failure: WaymarkError) -> WaymarkError {
    var next = failure.next
    if next == nil, failure.code == "ambiguous" { next = "waymark help ids" }
    if next == nil, failure.exitCode == ExitCode.usage {
      next = "waymark help \(words.joined(separator: " "))"
    }
    return WaymarkError(
      exitCode: failure.exitCode, code: failure.code, message: failure.message,
      next: next.map { NextStep.meaning($0, home: options.home) }, candidates: failure.candidates)
  }
}

/// What to type next, as it can be typed.
enum NextStep {
  /// Names the home in each command that is about this device: without it the step would be about another one.
  static func meaning(_ next: String, home: String?) -> String {
    guard let home else { return next }
    // What comes after a semicolon or a comma may be about another place than what comes before.
    var parts: [String] = []
    var rest = next[...]
    while let separator = rest.firstRange(of: "; ") {
      parts.append(String(rest[..<separator.lowerBound]))
      rest = rest[separator.upperBound...]
    }
    parts.append(String(rest))
    return parts.map { isElsewhere($0) ? $0 : naming(home, in: $0) }.joined(separator: "; ")
  }

  /// The same for the steps of a document that is about causes, each with its own.
  static func completing(_ document: JSON, of invocation: Invocation) -> JSON {
    guard let home = invocation.options.home, [["why"], ["doctor"]].contains(invocation.words) else {
      return document
    }
    return completing(document, home)
  }

  /// Names the home in each step of a document.
  static func completing(_ json: JSON, _ home: String?) -> JSON {
    guard let home else { return json }
    return switch json {
    case .object(let members):
      .object(
        members.map { member in
          guard member.key == "next", let step = member.value.string else {
            return JSON.Member(member.key, completing(member.value, home))
          }
          return JSON.Member(member.key, .string(meaning(step, home: home)))
        })
    case .array(let items): .array(items.map { completing($0, home) })
    default: json
    }
  }

  private static func isElsewhere(_ step: String) -> Bool { step.contains(", on ") }

  private static func naming(_ home: String, in step: String) -> String {
    step.replacing(/\bwaymark (?!help\b|version\b|--home\b)(?=[a-z])/) { _ in
      "waymark --home \(shellWord(home)) "
    }
  }
}
