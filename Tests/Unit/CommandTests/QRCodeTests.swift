import Console
import Foundation
import Processes
import Testing

@testable import Control
@testable import WaymarkCommand

struct QRCodeTests {
  @Test func `the codewords of a text are those of the standard's worked example`() throws {
    let version = try #require(QRVersion.smallest(forCharacters: 11))
    #expect(version.size == 21)
    // HELLO WORLD at level M.
    let data = version.dataCodewords([17, 14, 21, 21, 24, 36, 32, 24, 27, 21, 13])
    #expect(data == [32, 91, 11, 120, 209, 114, 220, 77, 67, 64, 236, 17, 236, 17, 236, 17])
    #expect(version.interleaved(data).suffix(10) == [196, 35, 39, 119, 235, 215, 231, 226, 93, 23])
  }

  @Test(arguments: [
    (20, 21), (21, 25), (38, 25), (39, 29), (221, 49), (222, 53), (312, 61),
  ])
  func `a text gets the smallest version that has room for it`(characters: Int, size: Int) {
    #expect(QRCode(String(repeating: "A", count: characters))?.size == size)
  }

  @Test func `a text that does not fit, or that has other characters, gets no code`() {
    #expect(QRCode(String(repeating: "A", count: 3_392)) == nil)
    #expect(QRCode("waymark1") == nil)
  }

  /// Versions at which something changes: alignment patterns, version information, the length field, blocks of two
  /// lengths, and the irregular version 32.
  @Test(
    .enabled(if: Scanner.isInstalled, Scanner.missing),
    arguments: [
      (1, .half), (21, .half), (155, .half), (207, .full), (221, .half), (222, .half), (312, .half),
      (2_113, .half),
    ] as [(Int, QRText.Style)])
  func `a scanner reads the code from a picture of the terminal`(
    characters: Int, style: QRText.Style
  ) async throws {
    let alphabet = Array("WAYMARK1ABCDEFGHIJKLMNOPQRSTUVWXYZ234567 $%*+-./:089")
    let text = String((0..<characters).map { alphabet[($0 * $0 + 5 * $0) % alphabet.count] })
    let code = try #require(QRCode(text))
    let screen = Screen(QRText(code, style: style).lines)
    #expect(try await Scanner.read(screen) == text)
  }

  @Test(arguments: QRText.Style.allCases)
  func `a code is black on white with a border of four modules, whatever the colours of the terminal`(
    style: QRText.Style
  ) throws {
    let code = try #require(QRCode("WAYMARK1"))
    let text = QRText(code, style: style)
    let screen = Screen(text.lines)
    let side = code.size + 8
    #expect(text.columns == (style == .half ? side : 2 * side))
    // A module is 8 pixels wide and high in half blocks, and 16 in full ones. The last line of half blocks has room for
    // one more row, which is white.
    let module = style == .half ? 8 : 16
    for row in 0..<side {
      for column in 0..<side {
        let isDark = screen.isBlack(row * module + module / 2, column * module + module / 2)
        #expect(isDark == code[row - 4, column - 4], "row \(row), column \(column)")
      }
    }
    #expect(screen.hasOnlySetColors)
  }

  @Test(.enabled(if: Scanner.isInstalled, Scanner.missing))
  func `an invitation says for whom and how long it is valid, and its code contains the ticket`() async throws
  {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init", "--name", "alice")
      let node = try await alice.start()
      let invitation = try await alice.run("invite", "--role", "admin", "--expires", "2h", "--qr")
      let ticket = invitation.output.trimmingCharacters(in: .newlines)
      #expect(ticket.hasPrefix("waymark1") && !ticket.contains("\n"))
      let lines = invitation.errors.split(separator: "\n").map(String.init)
      #expect(
        lines.first
          == "This ticket admits one device as an admin and expires in 2 h. "
          + "On that device, run waymark join and paste it:"
      )
      #expect(try await Scanner.read(Screen(Array(lines.dropFirst()))) == ticket.uppercased())
      let plain = try await alice.run("invite")
      #expect(!plain.errors.contains("\u{1B}"), "a code is shown only if it is asked for")
      #expect(try await node.stop() == 0)
    }
  }
}

/// A picture of lines on a terminal whose characters are 8 pixels wide and 16 high.
private struct Screen {
  private(set) var rows: [[UInt8]] = []
  /// Whether every character had both of its colours set, or its background if it is blank.
  private(set) var hasOnlySetColors = true

  private static let gray: UInt8 = 128

  init(_ lines: [String]) {
    for line in lines { draw(line) }
  }

  var height: Int { rows.count }
  var width: Int { rows.first?.count ?? 0 }

  func isBlack(_ row: Int, _ column: Int) -> Bool { rows[row][column] == 0 }

  private mutating func draw(_ line: String) {
    var (foreground, background) = (Self.gray, Self.gray)
    var (upper, lower): ([UInt8], [UInt8]) = ([], [])
    var rest = Substring(line)
    while let character = rest.first {
      if character == "\u{1B}", let end = rest.firstIndex(of: "m") {
        Self.select(String(rest[..<end].dropFirst(2)), &foreground, &background)
        rest = rest[rest.index(after: end)...]
        continue
      }
      rest = rest.dropFirst()
      let isUpper = character == "█" || character == "▀"
      let isLower = character == "█" || character == "▄"
      let showsForeground = isUpper || isLower
      if background == Self.gray || showsForeground && foreground == Self.gray { hasOnlySetColors = false }
      upper += Array(repeating: isUpper ? foreground : background, count: 8)
      lower += Array(repeating: isLower ? foreground : background, count: 8)
    }
    rows += Array(repeating: upper, count: 8) + Array(repeating: lower, count: 8)
  }

  /// Carries out a sequence that selects colours of the palette of 256, of which only black and white are used.
  private static func select(_ sequence: String, _ foreground: inout UInt8, _ background: inout UInt8) {
    if sequence == "0" { (foreground, background) = (gray, gray) }
    let palette: [String: UInt8] = ["16": 0, "231": 255]
    let numbers = sequence.split(separator: ";").map(String.init)
    for start in stride(from: 0, to: numbers.count - 2, by: 3) {
      let color = palette[numbers[start + 2]] ?? gray
      if numbers[start] == "38" { foreground = color } else { background = color }
    }
  }
}

/// The program that reads codes from pictures.
private enum Scanner {
  static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/bin/zbarimg")
  static let missing: Comment = "zbarimg is missing: apt install zbar-tools"

  static func read(_ screen: Screen) async throws -> String {
    let folder = FileManager.default.temporaryDirectory.appending(path: "waymark-qr-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let picture = folder.appending(path: "screen.pgm")
    let head = Data("P5 \(screen.width) \(screen.height) 255\n".utf8)
    try (head + screen.rows.reduce(into: Data()) { $0.append(contentsOf: $1) }).write(to: picture)
    let output = folder.appending(path: "text")
    let child = try Child(
      URL(filePath: "/usr/bin/zbarimg"), ["--quiet", "--raw", picture.path],
      environment: ProcessInfo.processInfo.environment, input: URL(filePath: "/dev/null"), output: output,
      errors: URL(filePath: "/dev/null"))
    _ = try await child.wait(seconds: 60, for: "zbarimg")
    return try String(contentsOf: output, encoding: .utf8).trimmingCharacters(in: .newlines)
  }
}
