public import Platform
import Home
package import Records
import Replication
import Storage
import Wire

/// A type of property that can be converted to and from the value of a field.
protocol FieldContent: Sendable {
  /// Converts the value of a field; nil if the field is null or has a value of another type.
  init?(_ value: Value)
  /// The value of the field, which is null if the property has no value.
  var value: Value { get }
}

/// A value with which a ``Query`` can compare a property of a record.
public protocol QueryValue: Sendable {
  /// The value in the form that the store uses for comparisons.
  var queryOperand: QueryOperand { get }
}

/// A value in the form that the store uses for comparisons. Types that conform to ``QueryValue`` create it.
public struct QueryOperand: Hashable, Sendable {
  package let column: ColumnValue
}

extension String: FieldContent, QueryValue {
  init?(_ value: Value) {
    guard let text = value.asText else { return nil }
    self = text
  }

  var value: Value { isEmpty ? .null : .text(self) }

  public var queryOperand: QueryOperand { QueryOperand(column: .text(self)) }
}

extension Bool: FieldContent, QueryValue {
  init?(_ value: Value) {
    guard let flag = value.asBool else { return nil }
    self = flag
  }

  var value: Value { .bool(self) }

  public var queryOperand: QueryOperand { QueryOperand(column: .integer(self ? 1 : 0)) }
}

extension Int: FieldContent, QueryValue {
  init?(_ value: Value) {
    guard let number = value.asInteger else { return nil }
    self.init(clamping: number)
  }

  var value: Value { .integer(Int64(self)) }

  public var queryOperand: QueryOperand { QueryOperand(column: .integer(Int64(self))) }
}

extension Double: FieldContent, QueryValue {
  init?(_ value: Value) {
    guard let number = value.asFloat else { return nil }
    self = number
  }

  var value: Value { .float(wireFloat(self)) }

  public var queryOperand: QueryOperand { QueryOperand(column: .real(wireFloat(self))) }
}

extension Date: FieldContent, QueryValue {
  init?(_ value: Value) {
    guard let time = value.asInteger else { return nil }
    self.init(milliseconds: time)
  }

  var value: Value { .integer(milliseconds) }

  public var queryOperand: QueryOperand { QueryOperand(column: .integer(milliseconds)) }
}

extension UUID: FieldContent, QueryValue {
  init?(_ value: Value) {
    guard let id = value.asRecordID else { return nil }
    self.init(id)
  }

  var value: Value { .bytes(RecordID(self).bytes) }

  public var queryOperand: QueryOperand { QueryOperand(column: .blob(RecordID(self).bytes)) }
}

extension Optional: QueryValue where Wrapped: QueryValue {
  public var queryOperand: QueryOperand { self?.queryOperand ?? QueryOperand(column: .null) }
}

/// A word from a fixed list. A word that this version does not know reads as absent, but the store keeps it.
protocol FieldWord: FieldContent, QueryValue, RawRepresentable where RawValue == String {}

extension FieldWord {
  init?(_ value: Value) {
    guard let word = value.asText else { return nil }
    self.init(rawValue: word)
  }

  var value: Value { .text(rawValue) }
}

extension QueryValue where Self: RawRepresentable, RawValue == String {
  public var queryOperand: QueryOperand { QueryOperand(column: .text(rawValue)) }
}

/// An item of a list field. Invalid items are skipped when the list is read.
protocol FieldItem: Sendable {
  init?(_ item: Value)
  var item: Value { get }
}

extension Array: FieldContent where Element: FieldItem {
  init?(_ value: Value) {
    guard case .array(let items) = value else { return nil }
    self = items.compactMap { Element($0) }
  }

  var value: Value { .array(map(\.item)) }
}
