import Wire

/// Parses iCalendar text (RFC 5545) into components; lines end with CRLF or LF.
struct CalendarText {
  private let bytes: [UInt8]
  private var position = 0
  /// The number of the next line, counted from 1.
  private var line = 1

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    if bytes.starts(with: FileSignature.byteOrderMark) { position = 3 }
  }

  /// Parses the calendars in the file. Throws if one of them is incomplete, as in a truncated file.
  mutating func calendars() throws(ExchangeError) -> [CalendarComponent] {
    var calendars: [CalendarComponent] = []
    var open: [CalendarComponent] = []
    var count = 0
    while let line = try nextLine() {
      switch line.name {
      case "BEGIN":
        open.append(CalendarComponent(name: line.value.uppercased(), line: line.number))
        count += 1
        guard open.count <= Limits.calendarDepthMax, count <= Limits.importRowsMax else {
          throw line.damaged("there are too many components, or they are nested too deeply")
        }
        guard open.count > 1 || open[0].name == "VCALENDAR" else {
          throw line.damaged("a calendar begins with BEGIN:VCALENDAR")
        }
      case "END":
        guard let ended = open.popLast(), ended.name == line.value.uppercased() else {
          throw line.damaged("END:\(line.value.prefix(40)) has no matching BEGIN")
        }
        if open.isEmpty { calendars.append(ended) } else { open[open.count - 1].components.append(ended) }
      default:
        guard !open.isEmpty else {
          throw line.damaged("it is outside BEGIN:VCALENDAR and END:VCALENDAR")
        }
        open[open.count - 1].lines.append(line)
      }
    }
    if let left = open.last {
      throw .damaged(
        place: "line \(left.line)", reason: "BEGIN:\(left.name) has no END, so the file is truncated")
    }
    guard !calendars.isEmpty else { throw .damaged(place: "line 1", reason: "there is no BEGIN:VCALENDAR") }
    return calendars
  }

  /// Returns the next line that is not empty, unfolded; nil at the end. A fold can be in the middle of a character.
  private mutating func nextLine() throws(ExchangeError) -> CalendarLine? {
    while position < bytes.count {
      let number = line
      var text = Array(physicalLine())
      while position < bytes.count, bytes[position] == 0x20 || bytes[position] == 0x09 {
        text += physicalLine().dropFirst()
        guard text.count <= Limits.calendarLineBytesMax else {
          throw .damaged(
            place: "line \(number)", reason: "it is longer than \(Limits.calendarLineBytesMax) bytes")
        }
      }
      if text.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { continue }
      return try CalendarLine(text, number: number)
    }
    return nil
  }

  private mutating func physicalLine() -> ArraySlice<UInt8> {
    let start = position
    while position < bytes.count, bytes[position] != 0x0a { position += 1 }
    var end = position
    position = min(position + 1, bytes.count)
    line += 1
    if end > start, bytes[end - 1] == 0x0d { end -= 1 }
    return bytes[start..<end]
  }
}

/// A component, such as `BEGIN:VEVENT` … `END:VEVENT`, with its lines.
struct CalendarComponent {
  /// The name of the component, in upper case.
  let name: String
  /// The number of the line on which the component begins.
  let line: Int
  var lines: [CalendarLine] = []
  var components: [CalendarComponent] = []

  init(name: String, line: Int) {
    self.name = name
    self.line = line
  }

  /// Returns the first line with this name.
  subscript(name: String) -> CalendarLine? { lines.first { $0.name == name } }

  /// Returns the text of the first line with this name; nil if the line is missing or its text is empty.
  func text(_ name: String) -> String? {
    self[name].map(\.text).flatMap { $0.isEmpty ? nil : $0 }
  }
}

/// A line of a calendar, `NAME;PARAMETER=value:value`.
struct CalendarLine {
  /// The name of the line, in upper case.
  let name: String
  let number: Int
  /// The value as written, with escapes.
  let value: String
  /// The parameters of the line, with their names in upper case.
  private let parameters: [(name: String, value: String)]

  init(_ bytes: [UInt8], number: Int) throws(ExchangeError) {
    self.number = number
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw .damaged(place: "line \(number)", reason: "it is not UTF-8 text")
    }
    guard let parts = Self.split(text) else {
      throw .damaged(place: "line \(number)", reason: "it is not NAME:VALUE: \"\(text.prefix(40))\"")
    }
    name = parts.head[0].uppercased()
    value = parts.value
    parameters = parts.head.dropFirst().map { parameter in
      let halves = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return (halves[0].uppercased(), Self.plain(halves.count == 2 ? halves[1] : ""))
    }
  }

  func damaged(_ reason: String) -> ExchangeError { .damaged(place: "line \(number)", reason: reason) }

  func parameter(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

  /// The value without escapes: `\n` becomes a line break, and `\,` becomes a comma.
  var text: String { Self.unescaped(value) }

  static func unescaped(_ value: String) -> String {
    guard value.utf8.contains(UInt8(ascii: "\\")) else { return value }
    var text = ""
    var isEscaped = false
    for character in value.unicodeScalars {
      if isEscaped {
        text.unicodeScalars.append(character == "n" || character == "N" ? "\n" : character)
        isEscaped = false
      } else if character == "\\" {
        isEscaped = true
      } else {
        text.unicodeScalars.append(character)
      }
    }
    return isEscaped ? text + "\\" : text
  }

  /// Splits a line into the name with the parameters and the value after the colon; nil if it has no name or no colon.
  /// Colons and semicolons in quotation marks do not separate parts.
  private static func split(_ text: String) -> (head: [String], value: String)? {
    var head: [String] = []
    var part: [UInt8] = []
    var isQuoted = false
    let bytes = Array(text.utf8)
    for (index, byte) in bytes.enumerated() {
      switch byte {
      case UInt8(ascii: "\""):
        isQuoted.toggle()
        part.append(byte)
      case UInt8(ascii: ";") where !isQuoted, UInt8(ascii: ":") where !isQuoted:
        head.append(String(decoding: part, as: UTF8.self))
        part = []
        guard head.count <= Limits.importColumnsMax, isName(head[0]) else { return nil }
        if byte == UInt8(ascii: ":") { return (head, String(decoding: bytes[(index + 1)...], as: UTF8.self)) }
      default: part.append(byte)
      }
    }
    return nil
  }

  private static let nameBytes = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  private static func isName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy(nameBytes.contains)
  }

  /// Returns a parameter's value without quotation marks, and with the escapes of RFC 6868 decoded.
  private static func plain(_ value: Substring) -> String {
    var text = ""
    var isEscaped = false
    for character in value.unicodeScalars where character != "\"" {
      if isEscaped {
        isEscaped = false
        switch character {
        case "n": text.append("\n")
        case "'": text.append("\"")
        case "^": text.append("^")
        default: text.unicodeScalars.append(contentsOf: ["^", character])
        }
      } else if character == "^" {
        isEscaped = true
      } else {
        text.unicodeScalars.append(character)
      }
    }
    return isEscaped ? text + "^" : text
  }
}
