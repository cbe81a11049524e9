public import Platform
import Home
import Records
import Replication
package import Storage
import Wire

/// What the numbers that the records of a query have in one property amount to. Records whose property is nil do not count.
public struct NumberSummary: Hashable, Sendable, Codable {
  /// The number of records that have a number.
  public let count: Int
  /// The sum, in which decimal fractions are added exactly: 0.1 + 0.2 is 0.3. It is 0 if there are no numbers.
  public let sum: Double
  /// The smallest number; nil if there are none.
  public let minimum: Double?
  /// The greatest number; nil if there are none.
  public let maximum: Double?

  /// The sum divided by the count; nil if there are no numbers.
  public var average: Double? { count == 0 ? nil : sum / Double(count) }
}

/// What the amounts in one currency that the records of a query have in one property come to.
public struct MoneySummary: Hashable, Sendable, Codable {
  /// The currency as an ISO 4217 code; nil for the amounts that have no currency.
  public let currency: String?
  /// The number of records that have such an amount.
  public let count: Int
  /// The exact sum; nil if it has more than 38 digits.
  public let sum: Decimal?
  /// The smallest amount.
  public let minimum: Decimal
  /// The greatest amount.
  public let maximum: Decimal

  /// The sum divided by the count, rounded to 38 digits; nil if there is no sum.
  public var average: Decimal? { sum.map { $0 / Decimal(count) } }
}

/// The first and the last of the times, or days, that the records of a query have in one property. Records whose property is
/// nil do not count.
public struct TimeSummary<Time: Comparable & Hashable & Sendable>: Hashable, Sendable {
  /// The number of records that have a time.
  public private(set) var count = 0
  /// The first time; nil if there are none.
  public private(set) var earliest: Time?
  /// The last time; nil if there are none.
  public private(set) var latest: Time?

  fileprivate init() {}

  fileprivate mutating func add(_ time: Time, _ count: Int) {
    self.count += count
    earliest = min(earliest ?? time, time)
    latest = max(latest ?? time, time)
  }
}

/// A property that ``LiveQuery`` can summarize as a ``TimeSummary``: a date or a day, which may be optional.
public protocol QueryMoment: QueryValue {
  /// The type of the earliest and the latest value.
  associatedtype Time: Comparable & Hashable & Sendable
  /// The value; nil if the property is nil.
  var moment: Time? { get }
}

extension Date: QueryMoment {
  public var moment: Date? { self }
}

extension Day: QueryMoment {
  public var moment: Day? { self }
}

extension Optional: QueryMoment where Wrapped: QueryMoment {
  public var moment: Wrapped.Time? { flatMap(\.moment) }
}

/// A property that ``LiveQuery`` can add up: a number or an optional number.
public protocol QueryNumber: QueryValue {}

extension Int: QueryNumber {}

extension Double: QueryNumber {}

extension Optional: QueryNumber where Wrapped: QueryNumber {}

extension RecordSource {
  /// Returns how many records of a query have each value of a property.
  package func counts<Owner, Group: Hashable>(
    of query: Query<Owner>, by group: any KeyPath<Owner, Group> & Sendable, _ time: inout EvaluationTime
  ) throws -> [Group: Int] {
    let group = try StoredProperty(group)
    var counts: [Group: Int] = [:]
    try forEachCount(query, by: group.field, of: nil, &time) { count, value, _ in
      counts[group.read(value), default: 0] += count
    }
    return counts
  }

  /// Returns the summary of a number of the records of a query.
  package func summary<Owner, Number: QueryNumber>(
    of number: any KeyPath<Owner, Number> & Sendable, in query: Query<Owner>, _ time: inout EvaluationTime
  ) throws -> NumberSummary {
    try numberTotals(of: number, in: query, by: nil as (any KeyPath<Owner, Bool> & Sendable)?, &time)[nil]?
      .summary ?? NumberTotal().summary
  }

  /// Returns the summary of a number for each value of another property.
  package func summaries<Owner, Number: QueryNumber, Group: Hashable>(
    of number: any KeyPath<Owner, Number> & Sendable, in query: Query<Owner>,
    by group: any KeyPath<Owner, Group> & Sendable, _ time: inout EvaluationTime
  ) throws -> [Group: NumberSummary] {
    try numberTotals(of: number, in: query, by: group, &time)
      .reduce(into: [:]) { groups, item in
        if let group = item.key { groups[group] = item.value.summary }
      }
  }

  /// Returns the summaries of an amount of money by currency. That without a currency comes first, then they are sorted by
  /// currency.
  package func summary<Owner>(
    of money: any KeyPath<Owner, Money?> & Sendable, in query: Query<Owner>, _ time: inout EvaluationTime
  ) throws -> [MoneySummary] {
    try moneyTotals(of: money, in: query, by: nil as (any KeyPath<Owner, Bool> & Sendable)?, &time)[nil]?
      .summaries ?? []
  }

  /// Returns the summaries of an amount of money by currency, for each value of another property.
  package func summaries<Owner, Group: Hashable>(
    of money: any KeyPath<Owner, Money?> & Sendable, in query: Query<Owner>,
    by group: any KeyPath<Owner, Group> & Sendable, _ time: inout EvaluationTime
  ) throws -> [Group: [MoneySummary]] {
    try moneyTotals(of: money, in: query, by: group, &time)
      .reduce(into: [:]) { groups, item in
        if let group = item.key { groups[group] = item.value.summaries }
      }
  }

  /// Returns the first and the last value of a date or day of the records of a query.
  package func summary<Owner, Property: QueryMoment>(
    of property: any KeyPath<Owner, Property> & Sendable, in query: Query<Owner>, _ time: inout EvaluationTime
  ) throws -> TimeSummary<Property.Time> {
    try times(of: property, in: query, by: nil as (any KeyPath<Owner, Bool> & Sendable)?, &time)[nil]
      ?? TimeSummary()
  }

  /// Returns the first and the last value of a date or day, for each value of another property.
  package func summaries<Owner, Property: QueryMoment, Group: Hashable>(
    of property: any KeyPath<Owner, Property> & Sendable, in query: Query<Owner>,
    by group: any KeyPath<Owner, Group> & Sendable, _ time: inout EvaluationTime
  ) throws -> [Group: TimeSummary<Property.Time>] {
    try times(of: property, in: query, by: group, &time)
      .reduce(into: [:]) { groups, item in
        if let group = item.key { groups[group] = item.value }
      }
  }

  /// Returns the summary of a date or day for each value of another property; without such a property, for nil.
  private func times<Owner, Property: QueryMoment, Group: Hashable>(
    of property: any KeyPath<Owner, Property> & Sendable, in query: Query<Owner>,
    by group: (any KeyPath<Owner, Group> & Sendable)?, _ time: inout EvaluationTime
  ) throws -> [Group?: TimeSummary<Property.Time>] {
    let (property, group) = (try StoredProperty(property), try group.map { try StoredProperty($0) })
    var summaries: [Group?: TimeSummary<Property.Time>] = [:]
    try forEachCount(query, by: group?.field, of: property.field, &time) { count, key, value in
      // A record without the value would read as the initial value of its property.
      guard value != .null, let found = property.read(value).moment else { return }
      summaries[group?.read(key), default: TimeSummary()].add(found, count)
    }
    return summaries
  }

  /// Returns the total of a number for each value of another property; without such a property, for nil.
  private func numberTotals<Owner, Number: QueryNumber, Group: Hashable>(
    of number: any KeyPath<Owner, Number> & Sendable, in query: Query<Owner>,
    by group: (any KeyPath<Owner, Group> & Sendable)?, _ time: inout EvaluationTime
  ) throws -> [Group?: NumberTotal] {
    let (number, group) = (try StoredProperty(number), try group.map { try StoredProperty($0) })
    var totals: [Group?: NumberTotal] = [:]
    try forEachCount(query, by: group?.field, of: number.field, &time) { count, key, value in
      let found: Double
      switch number.read(value).queryOperand.column {
      case .integer(let whole): found = Double(whole)
      case .real(let real): found = real
      default: return
      }
      totals[group?.read(key), default: NumberTotal()].add(found, count)
    }
    return totals
  }

  private func moneyTotals<Owner, Group: Hashable>(
    of money: any KeyPath<Owner, Money?> & Sendable, in query: Query<Owner>,
    by group: (any KeyPath<Owner, Group> & Sendable)?, _ time: inout EvaluationTime
  ) throws -> [Group?: CurrencyTotals] {
    let (money, group) = (try StoredProperty(money), try group.map { try StoredProperty($0) })
    var totals: [Group?: CurrencyTotals] = [:]
    try forEachCount(query, by: group?.field, of: money.field, &time) { count, key, value in
      guard let found = money.read(value) else { return }
      totals[group?.read(key), default: CurrencyTotals()].add(found, count)
    }
    return totals
  }

  private func forEachCount<Owner>(
    _ query: Query<Owner>, by group: Field?, of value: Field?, _ time: inout EvaluationTime,
    _ body: (Int, Value, Value) throws -> Void
  ) throws {
    try query.kinds.forEach(checkKnown)
    try noteComparisons(of: query, &time)
    try forEachCount(try query.plan.stored(time.now), by: group, of: value, body)
  }
}

/// A property of records and the field that stores it.
private struct StoredProperty<Owner: Record, Property> {
  let field: Field
  private let record: RecordField<Owner>
  private let path: any KeyPath<Owner, Property> & Sendable

  /// - Throws: ``WaymarkError`` for a key path that is not a stored property.
  init(_ path: any KeyPath<Owner, Property> & Sendable) throws {
    guard let record = Owner.fields.field(path), let field = Owner.kind.field(record.number) else {
      throw UnusableProperty.notStored("\(path)").error
    }
    (self.field, self.record, self.path) = (field, record, path)
  }

  /// Returns the property of a record whose field has a value.
  func read(_ value: Value) -> Property {
    var record = Owner(id: .zero)
    self.record.read(value, &record)
    return record[keyPath: path]
  }
}

/// The summary of the numbers added so far.
private struct NumberTotal {
  private var count = 0
  private var sum = DecimalSum()
  private var minimum: Double?
  private var maximum: Double?

  mutating func add(_ number: Double, _ count: Int) {
    self.count += count
    for _ in 0..<count { sum.add(number) }
    minimum = min(minimum ?? number, number)
    maximum = max(maximum ?? number, number)
  }

  var summary: NumberSummary {
    NumberSummary(count: count, sum: sum.value, minimum: minimum, maximum: maximum)
  }
}

/// The summaries of the amounts added so far, by currency.
private struct CurrencyTotals {
  private var byCurrency: [String?: MoneyTotal] = [:]

  mutating func add(_ money: Money, _ count: Int) {
    byCurrency[money.currency, default: MoneyTotal(money.amount)].add(money.amount, count)
  }

  var summaries: [MoneySummary] {
    byCurrency.sorted { ($0.key ?? "") < ($1.key ?? "") }.map { $0.value.summary($0.key) }
  }
}

/// The summary of the amounts in one currency added so far.
private struct MoneyTotal {
  private var count = 0
  /// The exact sum; nil once it has too many digits.
  private var sum: ExactDecimal? = .zero
  private var minimum: Decimal
  private var maximum: Decimal

  init(_ amount: Decimal) { (minimum, maximum) = (amount, amount) }

  mutating func add(_ amount: Decimal, _ count: Int) {
    self.count += count
    let exact = ExactDecimal(amount.description)
    for _ in 0..<count { sum = exact.flatMap { try? sum?.adding($0) } }
    minimum = min(minimum, amount)
    maximum = max(maximum, amount)
  }

  func summary(_ currency: String?) -> MoneySummary {
    MoneySummary(
      currency: currency, count: count, sum: sum.flatMap { Decimal(string: $0.description) },
      minimum: minimum, maximum: maximum)
  }
}
