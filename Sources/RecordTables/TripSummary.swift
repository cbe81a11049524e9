// Sources/store.md, "What is derived"

import JSONDocument
package import SQLite

/// A summary of a trip's visible items.
package struct TripSummary: Hashable, Sendable {
  package var lodgings = 0
  package var transportations = 0
  package var activities = 0
  /// The earliest start of an item, in milliseconds since 1970; nil if no item has a start.
  package var firstStart: Int64?
  /// The latest end of an item, in milliseconds since 1970; nil if no item has an end.
  package var lastEnd: Int64?
  /// One sum for each currency, sorted by code; the sum without a currency comes first.
  package var totals: [Total] = []

  package struct Total: Hashable, Sendable {
    /// The sum as exact decimal text; nil if it has too many digits.
    package let amount: String?
    package let currency: String?
  }

  package init() {}

  package init(_ row: borrowing Statement) {
    lodgings = Int(row.integer(0))
    transportations = Int(row.integer(1))
    activities = Int(row.integer(2))
    firstStart = row.isNull(3) ? nil : row.integer(3)
    lastEnd = row.isNull(4) ? nil : row.integer(4)
    totals = [Total](text: row.bytes(5))
  }
}

// MARK: Stored form

extension [TripSummary.Total] {
  /// The totals as JSON, so that other tools can read them in the store.
  var text: String {
    JSON.array(map { ["amount": .text($0.amount), "currency": .text($0.currency)] }).text()
  }

  /// Parses the output of `text`.
  init(text: [UInt8]) {
    var plain = PlainTotals(bytes: text)
    if let totals = try? plain.read() {
      self = totals
    } else {
      self = ((try? JSON.parse(text))?.array ?? []).map {
        Element(amount: $0["amount"]?.string, currency: $0["currency"]?.string)
      }
    }
  }
}

/// A parser for totals whose text contains no escapes, as is nearly always the case. Building a JSON tree for each
/// summary would take a fifth of the time of listing trips.
private struct PlainTotals {
  let bytes: [UInt8]
  private var index = 0

  struct NotPlain: Error {}

  init(bytes: [UInt8]) { self.bytes = bytes }

  private static let (open, close) = (Array("[".utf8), Array("]".utf8))
  private static let amount = Array(#"{"amount":"#.utf8)
  private static let currency = Array(#","currency":"#.utf8)
  private static let (end, comma, quote) = (Array("}".utf8), Array(",".utf8), Array("\"".utf8))
  private static let null = Array("null".utf8)

  mutating func read() throws(NotPlain) -> [TripSummary.Total] {
    try pass(Self.open)
    var totals: [TripSummary.Total] = []
    while index < bytes.count, bytes[index] != UInt8(ascii: "]") {
      if !totals.isEmpty { try pass(Self.comma) }
      try pass(Self.amount)
      let amount = try text()
      try pass(Self.currency)
      totals.append(TripSummary.Total(amount: amount, currency: try text()))
      try pass(Self.end)
    }
    try pass(Self.close)
    return totals
  }

  private mutating func pass(_ literal: [UInt8]) throws(NotPlain) {
    for byte in literal {
      guard index < bytes.count, bytes[index] == byte else { throw NotPlain() }
      index += 1
    }
  }

  /// Reads a quoted string, or returns nil for null.
  private mutating func text() throws(NotPlain) -> String? {
    guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else {
      try pass(Self.null)
      return nil
    }
    let start = index + 1
    index = start
    while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
      guard bytes[index] != UInt8(ascii: "\\") else { throw NotPlain() }
      index += 1
    }
    let end = index
    try pass(Self.quote)
    return String(decoding: bytes[start..<end], as: UTF8.self)
  }
}
