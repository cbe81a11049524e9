import Wire

/// Reads comma-separated values (RFC 4180) row by row; lines end with CRLF, LF or CR.
struct CSVReader {
  /// The name of the file, which errors mention; empty if there is only one file.
  let file: String
  private let bytes: [UInt8]
  private var position = 0
  private var line = 1
  private var rows = 0

  init(_ bytes: [UInt8], file: String = "") {
    self.bytes = bytes
    self.file = file
    if bytes.starts(with: FileSignature.byteOrderMark) { position = 3 }
  }

  /// Whether the last line has a line ending, as in a file that was written completely.
  var isEnded: Bool { bytes.last.map { $0 == Self.newline || $0 == Self.carriageReturn } ?? true }

  /// Reads the next row that is not empty; nil at the end.
  mutating func next() throws(ExchangeError) -> CSVRow? {
    while position < bytes.count {
      let start = line
      let fields = try readRow(start)
      if fields == [""] { continue }
      rows += 1
      guard rows <= Limits.importRowsMax else {
        throw damaged(start, "there are more than \(Limits.importRowsMax) rows")
      }
      return CSVRow(file: file, line: start, fields: fields)
    }
    return nil
  }

  /// Passes each row after the header to `body`. Throws if a row does not have as many cells as the header.
  mutating func forEach(
    columns: Int, _ body: (CSVRow) throws(ExchangeError) -> Void
  ) throws(ExchangeError) {
    while let row = try next() {
      guard row.fields.count == columns else {
        throw damaged(row.line, "it has \(row.fields.count) cells, not \(columns)")
      }
      try body(row)
    }
  }

  func damaged(_ line: Int, _ reason: String) -> ExchangeError {
    .damaged(place: CSVRow(file: file, line: line, fields: []).place, reason: reason)
  }

  // MARK: Cells

  private static let quote = UInt8(ascii: "\"")
  private static let comma = UInt8(ascii: ",")
  private static let newline = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")

  private mutating func readRow(_ start: Int) throws(ExchangeError) -> [String] {
    var fields: [String] = []
    while true {
      fields.append(try readField(start))
      guard fields.count <= Limits.importColumnsMax else {
        throw damaged(start, "it has more than \(Limits.importColumnsMax) cells")
      }
      guard position < bytes.count else { return fields }
      let byte = bytes[position]
      position += 1
      if byte == Self.comma { continue }
      line += 1
      if byte == Self.carriageReturn, position < bytes.count, bytes[position] == Self.newline {
        position += 1
      }
      return fields
    }
  }

  private mutating func readField(_ start: Int) throws(ExchangeError) -> String {
    let isQuoted = position < bytes.count && bytes[position] == Self.quote
    let cell = isQuoted ? try quotedCell(start) : plainCell()
    guard let text = String(validating: cell, as: UTF8.self) else {
      throw damaged(start, "it is not UTF-8 text")
    }
    return text
  }

  private mutating func plainCell() -> [UInt8] {
    let start = position
    while position < bytes.count, !isEnd(bytes[position]) { position += 1 }
    return Array(bytes[start..<position])
  }

  /// Reads the content between quotation marks, in which two quotation marks in a row mean one.
  private mutating func quotedCell(_ start: Int) throws(ExchangeError) -> [UInt8] {
    var cell: [UInt8] = []
    position += 1
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      guard byte == Self.quote else {
        if byte == Self.newline { line += 1 }
        cell.append(byte)
        continue
      }
      guard position < bytes.count, bytes[position] == Self.quote else {
        guard position == bytes.count || isEnd(bytes[position]) else {
          throw damaged(line, "there is text after a closing quotation mark")
        }
        return cell
      }
      cell.append(byte)
      position += 1
    }
    throw damaged(start, "a quotation mark is never closed, so the file is truncated")
  }

  private func isEnd(_ byte: UInt8) -> Bool {
    byte == Self.comma || byte == Self.newline || byte == Self.carriageReturn
  }
}

/// A row of comma-separated values.
struct CSVRow {
  let file: String
  /// The line on which the row begins, counted from 1.
  let line: Int
  let fields: [String]

  /// The position of the row as text, such as `002 water/Checkmarks.csv, line 7`.
  var place: String { file.isEmpty ? "line \(line)" : "\(file), line \(line)" }
}

/// The columns of a file, by name.
struct CSVHeader {
  private let columns: [String: Int]
  let count: Int

  init(_ names: [String]) {
    count = names.count
    columns = Dictionary(names.enumerated().map { ($1.lowercased(), $0) }) { first, _ in first }
  }

  func has(_ name: String) -> Bool { columns[name.lowercased()] != nil }

  /// Returns a row's cell in a column; empty if the file does not have the column.
  func cell(_ name: String, of row: CSVRow) -> String {
    guard let column = columns[name.lowercased()], column < row.fields.count else { return "" }
    return row.fields[column]
  }
}
