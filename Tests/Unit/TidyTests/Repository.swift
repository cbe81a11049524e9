import Foundation

/// The repository as the tidy tests read it: text files, located relative to this file.
enum Repository {
  static let root: URL = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// A text file and its path, relative to the root.
  struct File: CustomStringConvertible {
    let path: String
    let text: String
    /// The text without comments and string contents.
    let code: String

    init(path: String, text: String) {
      self.path = path
      self.text = text
      code = path.hasSuffix(".swift") ? codeOnly(text) : ""
    }

    var description: String { path }
    var folder: String { path.split(separator: "/").dropLast().joined(separator: "/") }
    /// `Limits` for `Sources/Wire/Limits.swift`.
    var stem: String { String(path.split(separator: "/").last?.split(separator: ".").first ?? "") }
    /// `Wire` for `Sources/Wire/Limits.swift`.
    var module: String { path.split(separator: "/").dropFirst().first.map(String.init) ?? "" }
    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }
  }

  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// Every file below a folder with the given suffix, except build products and hidden files.
  static func files(in folder: String = "", ending: String) throws -> [File] {
    try paths(in: folder, ending: ending).map { File(path: $0, text: try text($0)) }
  }

  /// The paths of these files, for a test that reads only a part of them.
  static func paths(in folder: String = "", ending: String) -> [String] {
    let start = folder.isEmpty ? root : root.appending(path: folder)
    guard let walk = FileManager.default.enumerator(atPath: start.path) else { return [] }
    var found: [String] = []
    for case let relative as String in walk {
      if relative.hasPrefix(".") || relative.contains("/.") { continue }
      guard relative.hasSuffix(ending) else { continue }
      found.append(folder.isEmpty ? relative : "\(folder)/\(relative)")
    }
    return found.sorted()
  }

  static func sources() throws -> [File] { try allSources.get() }

  private static let allSources = Result { try files(in: "Sources", ending: ".swift") }
}

extension StringProtocol {
  /// Whether the text contains a part, compared byte by byte. Regular expressions and the search of strings take a
  /// hundred times as long.
  func holds(_ part: String) -> Bool {
    var part = part
    return part.withUTF8 { part in
      utf8.withContiguousStorageIfAvailable { text in
        guard let end = text.baseAddress.map({ $0 + text.count }), let wanted = part.baseAddress,
          let first = part.first
        else { return false }
        var start = end - text.count
        while end - start >= part.count, let found = memchr(start, Int32(first), end - start - part.count + 1)
        {
          if memcmp(found, wanted, part.count) == 0 { return true }
          start = UnsafePointer(found.assumingMemoryBound(to: UInt8.self)) + 1
        }
        return false
      }
    } ?? contains(part)
  }
}

/// Swift source without comments and string contents, line for line.
func codeOnly(_ source: String) -> String {
  var code: [UInt8] = []
  var state = ScanState.code
  var rest = Array(source.utf8)[...]
  while let byte = rest.first {
    let step = state.step(rest)
    if step.isCode || byte == UInt8(ascii: "\n") { code.append(byte) }
    // A step over several bytes never skips a line break inside code.
    rest = rest.dropFirst(step.count)
    state = step.next
  }
  return String(decoding: code, as: UTF8.self)
}

private enum ScanState {
  case code
  case lineComment
  case blockComment
  case text
  case longText

  func step(_ rest: ArraySlice<UInt8>) -> (next: ScanState, count: Int, isCode: Bool) {
    func begins(_ text: StaticString) -> Bool {
      text.withUTF8Buffer { rest.starts(with: $0) }
    }
    switch self {
    case .code:
      if begins("//") { return (.lineComment, 2, false) }
      if begins("/*") { return (.blockComment, 2, false) }
      if begins("\"\"\"") { return (.longText, 3, false) }
      if begins("\"") { return (.text, 1, false) }
      return (.code, 1, true)
    case .lineComment:
      return (begins("\n") ? .code : .lineComment, 1, false)
    case .blockComment:
      return begins("*/") ? (.code, 2, false) : (.blockComment, 1, false)
    case .text:
      if begins("\\") { return (.text, 2, false) }
      return (begins("\"") || begins("\n") ? .code : .text, 1, false)
    case .longText:
      return begins("\"\"\"") ? (.code, 3, false) : (.longText, 1, false)
    }
  }
}
