// Protocol/records.md, "Types"

import Records
import SQLite
import Wire

// The CBOR heads that the binder reads.
//
// The first byte of an item holds its major type in the upper three bits and, in the lower five, the argument itself (0
// to 23) or a code for the number of bytes that hold it: 24 → 1, 25 → 2, 26 → 4, 27 → 8 bytes, big-endian.
//
//     00…17, 18…1b   integer n            f4 f5   false, true
//     20…37, 38…3b   integer −1 − n       f6      null
//     50             16 bytes (an id)     fb      double, 8 bytes follow
//     60…77, 78…7b   text of n bytes      82 83   array of 2, of 3
//
// For example, a dated instant is an array of milliseconds, a time zone or null, and a calendar day. It fills three
// columns; its texts are bound without being copied:
//
//     83  1b 00 00 01 9d e9 34 1d 80  6d "Europe/Berlin"  6a "2026-05-02"
//         └ INTEGER 1777734000000     └ TEXT              └ TEXT
//
// The binder checks types and nothing else: the body was parsed when its set was verified, so every head is canonical
// and complete, and every text is UTF-8.

/// Binds cells to columns directly from the bytes of a change set, for the types that make up most records.
///
/// It accepts exactly the values that `FieldType.appendColumns` accepts, and leaves all other types to that function.
struct CellBinder {
  /// The bytes of the body. Their encoding was checked when the set was verified; only types are checked here.
  let bytes: [UInt8]
  private var offset = 0
  private var end = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Binds the columns of a cell, starting at `column`. Returns false if the cell's value is not of the given type.
  mutating func bind(
    _ type: FieldType, _ range: Range<Int>, _ statement: borrowing Statement, _ lent: BorrowedBytes,
    _ column: Int
  ) throws(SQLiteError) -> Bool {
    offset = range.lowerBound
    end = range.upperBound
    if bytes[offset] == 0xf6 {
      for index in type.columnTypes.indices { try statement.bindNull(column + index) }
      return true
    }
    switch type {
    case .bool:
      guard bytes[offset] == 0xf4 || bytes[offset] == 0xf5 else { return false }
      try statement.bind(column, bytes[offset] == 0xf5 ? 1 : 0)
      return true
    case .integer, .timestamp: return try integer(statement, column)
    case .float:
      guard bytes[offset] == 0xfb else { return false }
      try statement.bind(column, Double(bitPattern: bigEndianWord(bytes[range], at: offset + 1)))
      return true
    case .text, .keyReference: return try text(statement, lent, column)
    case .uuid, .reference:
      guard bytes[offset] == 0x50 else { return false }
      try statement.bindBlob(column, lent, offset + 1..<end)
      return true
    case .instant: return try instant(0x82, statement, lent, column)
    case .datedInstant:
      guard try instant(0x83, statement, lent, column), isDay else { return false }
      return try text(statement, lent, column + 2)
    default: return try general(type, range, statement, column)
    }
  }

  private mutating func instant(
    _ head: UInt8, _ statement: borrowing Statement, _ lent: BorrowedBytes, _ column: Int
  ) throws(SQLiteError) -> Bool {
    guard bytes[offset] == head else { return false }
    offset += 1
    guard try integer(statement, column) else { return false }
    if bytes[offset] == 0xf6 {
      try statement.bindNull(column + 1)
      offset += 1
      return true
    }
    return try text(statement, lent, column + 1)
  }

  private mutating func integer(_ statement: borrowing Statement, _ column: Int) throws(SQLiteError) -> Bool {
    let major = bytes[offset] >> 5
    guard major <= 1 else { return false }
    let number = Int64(truncatingIfNeeded: argument())
    try statement.bind(column, major == 0 ? number : ~number)
    return true
  }

  private mutating func text(
    _ statement: borrowing Statement, _ lent: BorrowedBytes, _ column: Int
  ) throws(SQLiteError) -> Bool {
    guard bytes[offset] >> 5 == 3 else { return false }
    let count = Int(truncatingIfNeeded: argument())
    try statement.bindText(column, lent, offset..<offset + count)
    offset += count
    return true
  }

  /// Whether the next item is a ten-byte text that names a valid calendar day.
  private var isDay: Bool {
    guard bytes[offset] == 0x6a, bytes[offset + 5] == UInt8(ascii: "-"),
      bytes[offset + 8] == UInt8(ascii: "-"),
      let year = decimal(offset + 1, 4), let month = decimal(offset + 6, 2), let day = decimal(offset + 9, 2)
    else { return false }
    return CalendarDay(year: year, month: month, day: day) != nil
  }

  private func decimal(_ start: Int, _ count: Int) -> Int? {
    var value = 0
    for index in start..<start + count {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index]) else { return nil }
      value = value * 10 + Int(bytes[index] - UInt8(ascii: "0"))
    }
    return value
  }

  /// Reads the argument from the head of the next item and moves the cursor past the head.
  private mutating func argument() -> UInt64 {
    let short = bytes[offset] & 31
    offset += 1
    guard short >= 24 else { return UInt64(short) }
    var value: UInt64 = 0
    for _ in 0..<(1 << (short - 24)) {
      value = value << 8 | UInt64(bytes[offset])
      offset += 1
    }
    return value
  }

  private func general(
    _ type: FieldType, _ range: Range<Int>, _ statement: borrowing Statement, _ column: Int
  ) throws(SQLiteError) -> Bool {
    var columns: [ColumnValue] = []
    guard type.appendColumns(of: bytes, in: range, to: &columns) else { return false }
    for (index, value) in columns.enumerated() { try statement.bind(column + index, value) }
    return true
  }
}
