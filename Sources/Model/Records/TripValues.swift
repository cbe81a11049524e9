public import Foundation
import Records
import Wire

/// An exact amount and its currency.
public struct Money: Hashable, Sendable {
  /// At most 34 digits, of which at most 30 are after the decimal point.
  public var amount: Decimal
  /// An ISO 4217 code, such as `EUR`; nil if not given.
  public var currency: String?

  /// An amount in a currency.
  ///
  /// A literal such as `33.33` is converted to `Decimal` by way of a binary float and is not exact; text is.
  public init(_ amount: Decimal, _ currency: String? = nil) {
    self.amount = amount
    self.currency = currency
  }

  /// An amount from text such as `"33.33"`; nil if it is not a number.
  public init?(_ amount: String, _ currency: String? = nil) {
    guard let exact = ExactDecimal(amount).flatMap({ Decimal(string: $0.description) }) else { return nil }
    self.init(exact, currency)
  }
}

extension Money: FieldContent {
  init?(_ value: Value) {
    guard let text = value.part(0).asText, let amount = Decimal(string: text) else { return nil }
    self.init(amount, String(value.part(1)))
  }

  var value: Value { .array([.text(amount.description), currency?.value ?? .null]) }
}

/// How much of the cost has been paid.
public enum Payment: String, CaseIterable, QueryValue, FieldWord {
  /// Nothing.
  case none
  /// A deposit.
  case deposit
  /// Everything.
  case inFull = "infull"
}

/// A means of transport.
public enum TransportationType: String, CaseIterable, QueryValue, FieldWord {
  /// On rails.
  case train
  /// In the air.
  case plane
  /// On water.
  case boat
  /// On the road.
  case car
  /// On two wheels.
  case bicycle
  /// On foot.
  case walking
}

/// Geographic coordinates in degrees.
public struct Coordinate: Hashable, Sendable {
  /// −90 to 90.
  public var latitude: Double
  /// −180 to 180.
  public var longitude: Double

  /// A place by its degrees.
  public init(latitude: Double, longitude: Double) {
    self.latitude = latitude
    self.longitude = longitude
  }
}

extension Coordinate: FieldContent {
  init?(_ value: Value) {
    guard let latitude = Double(value.part(0)), let longitude = Double(value.part(1)) else { return nil }
    self.init(latitude: latitude, longitude: longitude)
  }

  var value: Value { .array([latitude.value, longitude.value]) }
}
