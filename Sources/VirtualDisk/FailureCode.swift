import CSQLite

/// Extended result codes from sqlite3.h, whose macros Swift can't import.
enum FailureCode {
  static let read = of(1)
  static let shortRead = of(2)
  static let write = of(3)
  static let sync = of(4)
  static let syncDirectory = of(5)
  static let truncate = of(6)
  static let size = of(7)
  static let delete = of(10)
  static let access = of(13)
  static let lock = of(15)
  static let lockMemory = of(20)
  static let mapMemory = of(21)
  static let deleteMissing = of(23)

  private static func of(_ number: Int32) -> Int32 { SQLITE_IOERR | number << 8 }
}
