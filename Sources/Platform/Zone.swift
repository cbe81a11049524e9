/// A time zone: its name, and its offset from UTC at any time.
///
/// `TimeZone` of FoundationEssentials knows no zone but GMT by name, so the rules of others come from the system's files.
package struct Zone: Hashable, Sendable {
  package let name: String
  private let rules: Rules

  private enum Rules: Hashable {
    /// The same offset at any time, in seconds east of UTC.
    case fixed(Int)
    case file(TimeZoneFile)
    /// Those of Foundation.
    case foundation(TimeZone)
  }

  package static let utc = Zone(name: "UTC", seconds: 0)

  /// A zone with one offset.
  init(name: String, seconds: Int) {
    self.name = name
    rules = .fixed(seconds)
  }

  init(name: String, file: TimeZoneFile) {
    self.name = name
    rules = .file(file)
  }

  /// The zone of an app, with the rules that the app's Foundation has for it.
  package init(_ zone: TimeZone) {
    name = zone.identifier
    rules = .foundation(zone)
  }

  /// Returns the offset at a time, in seconds east of UTC.
  ///
  /// - Parameter time: seconds since 1970.
  package func offset(at time: Int64) -> Int {
    switch rules {
    case .fixed(let seconds): seconds
    case .file(let file): file.offset(at: time)
    case .foundation(let zone): zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(time)))
    }
  }

  /// The zone for an app. On Linux, the app needs all of Foundation; otherwise every zone is GMT there.
  package var timeZone: TimeZone {
    switch rules {
    case .fixed(let seconds): TimeZone(secondsFromGMT: seconds) ?? .gmt
    case .file: TimeZone(identifier: name) ?? .gmt
    case .foundation(let zone): zone
    }
  }
}

/// A zone is encoded as Foundation encodes a `TimeZone`.
extension Zone: Codable {
  private enum CodingKeys: String, CodingKey { case identifier }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let name = try container.decode(String.self, forKey: .identifier)
    guard let zone = Zone(named: name) else {
      throw DecodingError.dataCorruptedError(
        forKey: .identifier, in: container, debugDescription: "expected the name of a time zone")
    }
    self = zone
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .identifier)
  }
}

extension Zone {
  /// Parses a name that states an offset, in the forms that Foundation knows: `GMT+2`, `UTC-03`, `GMT+0530`, `GMT+05:30`.
  /// Nil for other names.
  init?(offsetName name: String) {
    guard name.hasPrefix("GMT") || name.hasPrefix("UTC") else { return nil }
    var digits = Array(name.utf8.dropFirst(3))
    guard let sign = digits.first, "+-".utf8.contains(sign) else { return nil }
    digits.removeFirst()
    // A colon is between two hours and two minutes.
    if let colon = digits.firstIndex(of: UInt8(ascii: ":")) {
      guard colon == digits.count - 3, colon > 0 else { return nil }
      digits.remove(at: colon)
      if colon == 1 { digits.insert(UInt8(ascii: "0"), at: 0) }
    }
    guard [1, 2, 4].contains(digits.count),
      digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
      let number = Int(String(decoding: digits, as: UTF8.self))
    else { return nil }
    let (hours, minutes) = digits.count == 4 ? (number / 100, number % 100) : (number, 0)
    guard hours <= 18, minutes < 60 else { return nil }
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let seconds = hours * 3_600 + minutes * 60
    let mark = sign == UInt8(ascii: "-") ? "-" : "+"
    self.init(
      name: seconds == 0 ? "GMT" : "GMT\(mark)\(two(hours))\(two(minutes))",
      seconds: sign == UInt8(ascii: "-") ? -seconds : seconds)
  }
}
