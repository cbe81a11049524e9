internal import CSQLite

extension Connection {
  /// The SQL function that tells whether a string contains another. Both this and the next ignore the case and the accents
  /// of the first string; the second must be folded, see `foldedText`.
  ///
  /// SQLite's own comparisons ignore the case of ASCII letters only.
  package static let containsFunction = "contains_folded"

  /// The SQL function that tells whether a string begins with another.
  package static let beginsFunction = "begins_folded"

  /// The SQL function that returns a string without its differences of case and accents, for sorting.
  package static let foldedFunction = "folded"

  /// Registers the functions that queries use. Their results depend on nothing but their arguments.
  func addFunctions() throws(SQLiteError) {
    let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY
    try check(
      sqlite3_create_function_v2(
        handle, Self.containsFunction, 2, flags, nil,
        { context, _, arguments in
          guard let arguments, let text = textArgument(arguments[0]), let part = textArgument(arguments[1])
          else {
            return sqlite3_result_null(context)
          }
          sqlite3_result_int(context, foldedText(foldedText(text), contains: part) ? 1 : 0)
        }, nil, nil, nil), Self.containsFunction)
    try check(
      sqlite3_create_function_v2(
        handle, Self.beginsFunction, 2, flags, nil,
        { context, _, arguments in
          guard let arguments, let text = textArgument(arguments[0]), let part = textArgument(arguments[1])
          else {
            return sqlite3_result_null(context)
          }
          sqlite3_result_int(context, foldedText(text).utf8.starts(with: part.utf8) ? 1 : 0)
        }, nil, nil, nil), Self.beginsFunction)
    try check(
      sqlite3_create_function_v2(
        handle, Self.foldedFunction, 1, flags, nil,
        { context, _, arguments in
          guard let arguments, let text = textArgument(arguments[0]) else {
            return sqlite3_result_null(context)
          }
          var folded = foldedText(text)
          folded.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
              sqlite3_result_text(
                context, characters.baseAddress, Int32(characters.count), waymark_sqlite3_transient())
            }
          }
        }, nil, nil, nil), Self.foldedFunction)
  }
}

/// Returns a function's argument as a string; nil if the argument is null.
private func textArgument(_ argument: OpaquePointer?) -> String? {
  guard let start = sqlite3_value_text(argument) else { return nil }
  let count = Int(sqlite3_value_bytes(argument))
  return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
}
