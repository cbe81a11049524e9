/// Messages about the rows of a file, of which there can be thousands. Messages that differ only in numbers and quoted
/// text are shown as one.
package struct MessageGroups {
  private let noun: String
  private var groups: [String: Group] = [:]
  /// The keys of the groups, in the order in which they appeared.
  private var order: [String] = []

  private struct Group {
    var examples: [String]
    var count: Int64
  }

  /// How many messages of a group are shown one by one; of a larger group, only the first is.
  private static let examplesMax = 3
  private static let groupsMax = 20

  /// - Parameter noun: what is counted, for the messages that are not shown.
  package init(_ noun: String) { self.noun = noun }

  package mutating func add(_ message: String) {
    let key = Self.pattern(of: message)
    if groups[key] == nil { order.append(key) }
    groups[key, default: Group(examples: [], count: 0)].count += 1
    if let count = groups[key]?.examples.count, count < Self.examplesMax {
      groups[key]?.examples.append(message)
    }
  }

  /// `trips[12]: totalCost is 5, but its items cost 3 (and 1,999 more like this)`
  package var lines: [String] {
    var lines: [String] = []
    for group in order.prefix(Self.groupsMax).compactMap({ groups[$0] }) {
      guard group.count > Self.examplesMax else {
        lines += group.examples
        continue
      }
      lines.append("\(group.examples[0]) (and \(grouped(group.count - 1)) more like this)")
    }
    let rest = order.dropFirst(Self.groupsMax).compactMap { groups[$0]?.count }.reduce(0, +)
    if rest > 0 { lines.append("\(counted(rest, "more \(noun)")); --json lists all") }
    return lines
  }

  /// The message without quoted text, and without words that contain a digit.
  private static func pattern(of message: String) -> String {
    var pattern = ""
    var word = ""
    var closing: Character?
    func end() {
      pattern += word.contains(where: \.isNumber) ? "#" : word
      word = ""
    }
    for character in message {
      if let mark = closing {
        if character == mark { closing = nil }
      } else if character.isLetter || character.isNumber || character == "." {
        word.append(character)
      } else {
        end()
        pattern.append(character)
        closing = ["\"": "\"", "“": "”"][character]
      }
    }
    end()
    return pattern
  }
}
