package import FileFormat
import Records
import Wire

/// Separates the files that are embedded in a Waymark export from the text around them, so that neither the files nor
/// the whole export have to fit in memory.
///
/// The content of a file is a base64 string that is longer than any text may be. It is decoded while it is read, and a
/// number takes its place in the text: the index of the file.
///
///     {"bytes": 3000000, "file": "…", "base64": "AAEC…"}   becomes   {"bytes": 3000000, "file": "…", "base64": 0}
package struct EmbeddedFiles {
  /// Returns the next bytes of the export; empty at its end.
  private let read: () throws -> [UInt8]
  /// Stores the content that its argument returns piece by piece; nil ends the content.
  private let keep: (() throws -> [UInt8]?) throws -> FileReference
  private var piece: [UInt8] = []
  private var index = 0

  private var text: [UInt8] = []
  private var files: [FileReference] = []

  private init(
    read: @escaping () throws -> [UInt8],
    keep: @escaping (() throws -> [UInt8]?) throws -> FileReference
  ) {
    self.read = read
    self.keep = keep
  }

  /// Whether a file begins like a Waymark export.
  package static func isExport(_ head: [UInt8]) -> Bool {
    var text = head[...]
    if head.starts(with: FileSignature.byteOrderMark) { text = text.dropFirst(3) }
    let compact = text.filter { !" \t\r\n".utf8.contains($0) }
    return compact.starts(with: Array("{\"schema\":\"\(FullExport.schemaPrefix)".utf8))
  }

  /// Returns the text of an export without its long files, and these files in the order of the text.
  ///
  /// - Throws: `ExchangeError`, or an error of `read` or `keep`.
  package static func separate(
    read: @escaping () throws -> [UInt8],
    keep: @escaping (() throws -> [UInt8]?) throws -> FileReference
  ) throws -> (text: [UInt8], files: [FileReference]) {
    var reader = EmbeddedFiles(read: read, keep: keep)
    while try reader.advance() { try reader.copyPiece() }
    return (reader.text, reader.files)
  }

  /// Reads the next piece if this one is used up. Returns false at the end.
  private mutating func advance() throws -> Bool {
    guard index == piece.count else { return true }
    (piece, index) = (try read(), 0)
    return !piece.isEmpty
  }

  // MARK: Text

  private var isInString = false
  private var isEscaped = false
  /// Where the string that is being copied begins in `text`, after its quotation mark.
  private var stringStart = 0

  /// Copies text up to the end of the piece, or up to the end of a long string.
  private mutating func copyPiece() throws {
    let start = index
    var endsLongString = false
    while index < piece.count, !endsLongString {
      let byte = piece[index]
      index += 1
      if !isInString {
        if byte == Self.quote { begin(at: start) }
      } else if isEscaped {
        isEscaped = false
      } else if byte == Self.backslash {
        isEscaped = true
      } else if byte == Self.quote {
        isInString = false
        endsLongString = text.count + index - start - stringStart > Limits.textBytesMax
      }
    }
    text += piece[start..<index]
    guard text.count <= Limits.importBytesMax else {
      throw ExchangeError.tooLarge(bytes: text.count, bytesMax: Limits.importBytesMax)
    }
    guard isInString || endsLongString else { return }
    if text.count - stringStart > Limits.textBytesMax { try separateString() }
  }

  private mutating func begin(at start: Int) {
    isInString = true
    stringStart = text.count + index - start
  }

  private static let quote = UInt8(ascii: "\"")
  private static let backslash = UInt8(ascii: "\\")

  // MARK: Files

  /// Moves the string that has been copied so far, and the rest of it, to a file.
  private mutating func separateString() throws {
    var beginning = text[stringStart...]
    if !isInString { beginning.removeLast() }
    // Text that is too long for a field is left for the reader to report.
    guard beginning.allSatisfy(Base64.isDigit) else { return }
    var decoder = Base64.Decoder()
    var next: ArraySlice<UInt8>? = beginning
    text.removeSubrange((stringStart - 1)...)
    files.append(
      try keep {
        guard let digits = try next ?? restOfString() else { return nil }
        next = nil
        guard let bytes = decoder.decode(digits) else { throw damaged("it is not base64") }
        return bytes
      })
    guard decoder.isComplete else { throw damaged("it is not base64") }
    text += Array(String(files.count - 1).utf8)
  }

  /// Returns the next part of the string; nil after its end.
  private mutating func restOfString() throws -> ArraySlice<UInt8>? {
    guard isInString else { return nil }
    guard try advance() else { throw damaged("the file ends inside it") }
    let end = piece[index...].firstIndex(of: Self.quote)
    defer {
      index = end.map { $0 + 1 } ?? piece.count
      isInString = end == nil
    }
    return piece[index..<(end ?? piece.count)]
  }

  private func damaged(_ reason: String) -> ExchangeError {
    .damaged(place: "the content of embedded file \(files.count + 1)", reason: reason)
  }
}
