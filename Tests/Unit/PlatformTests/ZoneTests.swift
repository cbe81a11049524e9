import Foundation
import Testing

@testable import Platform

struct ZoneTests {
  private static func content(_ path: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(filePath: "/usr/share/zoneinfo/\(path)")))
  }

  // MARK: Files

  /// Zones whose rules are unusual: other days, times and hemispheres, half hours, no daylight saving time, changes of
  /// the offset itself, and rules that began long ago.
  static let zones = [
    "Africa/Cairo", "Africa/Casablanca", "America/Godthab", "America/Havana", "America/Nuuk",
    "America/Santiago",
    "America/Sao_Paulo", "America/St_Johns", "Antarctica/Troll", "Asia/Gaza", "Asia/Kathmandu",
    "Asia/Kolkata",
    "Asia/Tehran", "Atlantic/Azores", "Australia/Lord_Howe", "EST5EDT", "Etc/GMT+5", "Europe/Dublin",
    "Europe/Lisbon",
    "Europe/London", "Europe/Rome", "GMT", "Pacific/Apia", "Pacific/Chatham", "Pacific/Kiritimati", "Zulu",
  ]

  /// `date` reads the same files with other code.
  @Test(.enabled(if: OperatingSystem.current == .linux), arguments: zones)
  func `offsets are those that date prints`(name: String) throws {
    let zone = try #require(Zone(named: name))
    // Every 17 days from 1850 to 2100, and around the last transitions of the file.
    let times = Array(stride(from: Int64(-3_786_825_600), to: 4_102_444_800, by: 17 * 86_400 + 4_321))
    let process = Process()
    let (input, output) = (Pipe(), Pipe())
    process.executableURL = URL(filePath: "/bin/date")
    process.arguments = ["-f", "-", "+%::z"]
    process.environment = ["TZ": name]
    (process.standardInput, process.standardOutput) = (input, output)
    try process.run()
    startThread {
      try? input.fileHandleForWriting.write(
        contentsOf: Data(times.map { "@\($0)\n" }.joined().utf8))
      try? input.fileHandleForWriting.close()
    }
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let printed = text.split(separator: "\n")
    #expect(printed.count == times.count)
    for (time, line) in zip(times, printed) where seconds(line) != zone.offset(at: time) {
      Issue.record("\(name) at \(time): \(line), not \(zone.offset(at: time))")
    }
  }

  /// Reads `+05:30:00`.
  private func seconds(_ text: Substring) -> Int? {
    let numbers = text.dropFirst().split(separator: ":").compactMap { Int($0) }
    guard numbers.count == 3 else { return nil }
    let seconds = numbers[0] * 3_600 + numbers[1] * 60 + numbers[2]
    return text.first == "-" ? -seconds : seconds
  }

  @Test(arguments: ["Europe/Rome", "Pacific/Apia", "Etc/UTC"])
  func `a file that ends early is refused, wherever it ends`(name: String) throws {
    let content = try Self.content(name)
    #expect(TimeZoneFile(content) != nil)
    for count in content.indices {
      let hasEnded = TimeZoneFile(Array(content[..<count])) == nil
      #expect(hasEnded, "the first \(count) bytes")
    }
    #expect(TimeZoneFile(content + [0]) == nil)
  }

  @Test func `a file with one wrong byte is refused or has offsets of less than 26 hours`() throws {
    let content = try Self.content("Europe/Rome")
    for index in content.indices {
      for byte: UInt8 in [0, 1, 0x7F, 0x80, 0xFF] where content[index] != byte {
        var damaged = content
        damaged[index] = byte
        guard let file = TimeZoneFile(damaged) else { continue }
        for time: Int64 in [.min, -3_000_000_000, 0, 1_800_000_000, 9_000_000_000, .max] {
          #expect(abs(file.offset(at: time)) < 26 * 3_600, "byte \(index)")
        }
      }
    }
  }

  /// Builds a file with two types of local time, and transitions to them in turn.
  private func file(
    version: UInt8 = 0x32, times: [Int64] = [0, 1_000], types: [Int32] = [3_600, 7_200], letters: Int = 4,
    leapSeconds: Int = 0, rule: String = ""
  ) -> [UInt8] {
    func big<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
      withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }
    func header(_ times: Int, _ types: Int, _ letters: Int, _ leapSeconds: Int) -> [UInt8] {
      Array("TZif".utf8) + [version] + [UInt8](repeating: 0, count: 15)
        + [0, 0, leapSeconds, times, types, letters].flatMap { big(UInt32($0)) }
    }
    var bytes = header(0, 1, 4, 0) + [UInt8](repeating: 0, count: 10)
    bytes += header(times.count, types.count, letters, leapSeconds)
    bytes += times.flatMap(big) + times.indices.map { UInt8($0 % 2) }
    for offset in types { bytes += big(offset) + [0, 0] }
    bytes += [UInt8](repeating: 0x41, count: letters) + [UInt8](repeating: 0, count: leapSeconds * 12)
    return bytes + Array("\n\(rule)\n".utf8)
  }

  @Test func `the first type is in effect before the first transition, and the last one stays`() throws {
    let zone = try #require(TimeZoneFile(file()))
    #expect([-1, 0, 999, 1_000, .max].map(zone.offset) == [3_600, 3_600, 3_600, 7_200, 7_200])
    let ruled = try #require(TimeZoneFile(file(rule: "<+09>-9")))
    #expect([999, 1_000].map(ruled.offset) == [3_600, 32_400])
  }

  @Test func `files with wrong versions, orders, offsets, counts and rules are refused`() {
    #expect(TimeZoneFile(file(version: 0)) == nil)
    #expect(TimeZoneFile(file(times: [5, 5])) == nil)
    #expect(TimeZoneFile(file(types: [3_600, 100_000])) == nil)
    #expect(TimeZoneFile(file(types: [3_600, .min])) == nil)
    #expect(TimeZoneFile(file(types: [3_600])) == nil, "a transition to a type that does not exist")
    #expect(TimeZoneFile(file(letters: 0)) == nil)
    #expect(TimeZoneFile(file(leapSeconds: 1)) == nil)
    #expect(TimeZoneFile(file(rule: "CET")) == nil)
    #expect(TimeZoneFile(file(times: Array(0..<5_000))) == nil)
    #expect(TimeZoneFile([]) == nil)
  }

  // MARK: Rules

  private func offsets(_ rule: String, _ times: Int64...) throws -> [Int] {
    let rule = try #require(TimeZoneRule(Array(rule.utf8)))
    return times.map(rule.offset)
  }

  @Test func `a rule has the same days every year, at either hemisphere`() throws {
    // 2026-03-29T01:00Z and 2026-10-25T01:00Z
    #expect(
      try offsets("CET-1CEST,M3.5.0,M10.5.0/3", 1_774_745_999, 1_774_746_000, 1_792_889_999, 1_792_890_000)
        == [3_600, 7_200, 7_200, 3_600])
    // 2026-04-04T16:00Z and 2026-10-03T16:00Z
    #expect(
      try offsets("AEST-10AEDT,M10.1.0,M4.1.0/3", 1_775_318_399, 1_775_318_400, 1_791_043_199, 1_791_043_200)
        == [39_600, 36_000, 36_000, 39_600])
  }

  @Test func `days are also counted, with 29 February or without it`() throws {
    // 1 March 2024 and 2026, and for the second rule 29 February 2024
    #expect(
      try offsets("AAA1BBB0,J60/0,J61/0", 1_709_254_800, 1_772_326_800)
        == [0, 0])
    #expect(try offsets("AAA1BBB0,59/0,60/0", 1_709_168_400, 1_709_254_800, 1_772_326_800) == [0, -3_600, 0])
  }

  @Test func `times of a rule may be negative, and daylight saving time may last all year`() throws {
    // 2026-03-29T01:00Z
    #expect(
      try offsets("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1_774_745_999, 1_774_746_000) == [-7_200, -3_600])
    // 2025-12-31T23:59:59 and 2026-01-01T00:00, local times
    #expect(
      try offsets("XXX3EDT4,0/0,J365/23", 1_767_239_999, 1_767_240_000, 1_780_000_000) == [
        -14_400, -14_400, -14_400,
      ])
  }

  @Test(arguments: [
    "", "CE-1", "CET", "CET-25", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0",
    "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J5", "CET-1CEST,J366,J5",
    "CET-1CEST,366,5",
    "CET-1CEST,M3.5.0,M10.5.0/168", "CET-1CEST,M3.5.0,M10.5.0 ", "<CET-1", "CET-1:60",
    "CET-99999999999999999999",
  ])
  func `a malformed rule is refused`(text: String) {
    #expect(TimeZoneRule(Array(text.utf8)) == nil)
  }

  // MARK: Names

  @Test(arguments: [
    "", "Europe/Nowhere", "Europe", "/etc/localtime", "../zoneinfo/Europe/Rome", "Europe/../Europe/Rome",
    "localtime",
    "posixrules", "posix/Europe/Rome", "right/Europe/Rome", "europe/rome", "tzdata.zi", "Europe/Rome\0",
    "GMT+19",
    "GMT+5:75", "GMT+530", String(repeating: "A", count: 100),
  ])
  func `a name that is not that of a zone has no zone`(name: String) {
    #expect(Zone(named: name) == nil)
  }

  @Test func `names that state an offset are understood as Foundation does`() {
    for name in ["GMT+5", "UTC-3", "GMT+0530", "GMT-05:30", "GMT+0", "UTC+00:00"] {
      let (zone, expected) = (Zone(named: name), TimeZone(identifier: name))
      #expect(zone?.name == expected?.identifier, "\(name)")
      #expect(zone?.offset(at: 0) == expected?.secondsFromGMT(), "\(name)")
    }
  }

  @Test func `a zone is encoded as Foundation encodes it`() throws {
    let zone = try #require(Zone(named: "Europe/Rome"))
    let encoded = try JSONEncoder().encode(zone)
    #expect(try JSONDecoder().decode(TimeZone.self, from: encoded).identifier == "Europe/Rome")
    let foundation = try #require(TimeZone(identifier: "Europe/Rome"))
    #expect(try JSONDecoder().decode(Zone.self, from: JSONEncoder().encode(foundation)) == zone)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(Zone.self, from: Data(#"{"identifier":"Europe/Nowhere"}"#.utf8))
    }
  }

  @Test func `a zone of Foundation keeps its offsets, and returns to Foundation`() throws {
    let foundation = try #require(TimeZone(identifier: "America/New_York"))
    let zone = Zone(foundation)
    #expect(zone.offset(at: 1_750_000_000) == -14_400)
    #expect(zone.timeZone == foundation)
    #expect(try #require(Zone(named: "Europe/Rome")).timeZone.identifier == "Europe/Rome")
    #expect(Zone.utc.timeZone == .gmt)
  }

  @Test func `the machine's zone is that to which its link leads`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for (target, name) in [
      ("/usr/share/zoneinfo/Europe/Rome", "Europe/Rome"), ("../usr/share/zoneinfo/Asia/Tokyo", "Asia/Tokyo"),
      ("/somewhere/else", "UTC"),
    ] {
      let link = folder.appending(path: UUID().uuidString).path
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
      let files = ZoneFiles(folder: "/usr/share/zoneinfo", local: link)
      #expect(files.zone(ofVariable: nil).name == name)
    }
    let files = ZoneFiles(folder: "/usr/share/zoneinfo", local: folder.appending(path: "none").path)
    #expect(files.zone(ofVariable: nil) == .utc)
    #expect(files.zone(ofVariable: ":Europe/Rome").name == "Europe/Rome")
    #expect(files.zone(ofVariable: "/usr/share/zoneinfo/Asia/Tokyo").name == "Asia/Tokyo")
    #expect(files.zone(ofVariable: "CET-1CEST") == .utc)
  }
}
