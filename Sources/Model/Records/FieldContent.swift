public import Foundation
import Home
import Records
import Replication
import Storage
import Wire

/// The type of a property, convertible to and from the value of a field.
protocol FieldContent: Sendable {
  /// Nil for no value, and for a value of another type.
  init?(_ value: Value)
  /// Null if there is no value.
  var value: Value { get }
}

/// A value that a property of a record can be compared with in a ``Query``.
public protocol QueryValue: Sendable {
  /// The value in the form that the store compares.
  var queryOperand: QueryOperand { get }
}

/// The store's form of a value that a property is compared with; created by types that conform to ``QueryValue``.
public struct QueryOperand: Hashable, Sendable {
  let column: ColumnValue
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

/// A word from a fixed list. A word that this version does not know reads as absent and is kept.
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

/// An item of a list field; invalid items are skipped when the list is read.
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
