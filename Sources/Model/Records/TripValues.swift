public import Platform
import Home
public import Reasons
import Records
import Wire

/// An exact amount of money and its currency.
public struct Money: Hashable, Sendable {
  /// The amount, with at most 34 digits, of which at most 30 are after the decimal point.
  public var amount: Decimal
  /// The currency as an ISO 4217 code, such as `EUR`; nil if it is not given.
  public var currency: String?

  /// Creates an amount in a currency.
  ///
  /// A literal such as `33.33` is converted to `Decimal` through a binary float and may not be exact. An amount that
  /// is created from text is exact.
  public init(_ amount: Decimal, _ currency: String? = nil) {
    self.amount = amount
    self.currency = currency
  }

  /// Creates an exact amount from text such as `"33.33"`.
  ///
  /// - Throws: ``WaymarkError`` with the code `bad_value` if the text is not a valid amount.
  public init(exactly amount: String, _ currency: String? = nil) throws(WaymarkError) {
    guard let exact = Self.amount(amount) else {
      throw .badValue("amount", amount, allowed: "expected an amount, such as 120.50, of at most 34 digits")
    }
    self.init(exact, currency)
  }

  private static func amount(_ text: String) -> Decimal? {
    ExactDecimal(text).flatMap { Decimal(string: $0.description) }
  }
}

extension Money: Codable {
  private enum CodingKeys: CodingKey {
    case amount
    case currency
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let text = try container.decode(String.self, forKey: .amount)
    guard let amount = Self.amount(text) else {
      throw DecodingError.dataCorruptedError(
        forKey: .amount, in: container, debugDescription: "expected an amount, such as 120.50")
    }
    self.init(amount, try container.decodeIfPresent(String.self, forKey: .currency))
  }

  /// Encodes the amount as text, which keeps all of its digits in every format.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(amount.description, forKey: .amount)
    try container.encodeIfPresent(currency, forKey: .currency)
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
public enum Payment: String, Codable, CaseIterable, QueryValue, FieldWord {
  /// Nothing has been paid.
  case unpaid = "none"
  /// A deposit has been paid.
  case deposit
  /// The full cost has been paid.
  case inFull = "infull"
}

/// A means of transport.
public enum TransportationType: String, Codable, CaseIterable, QueryValue, FieldWord {
  /// A train, or another vehicle on rails.
  case train
  /// A plane.
  case plane
  /// A boat or ship.
  case boat
  /// A car.
  case car
  /// A bicycle.
  case bicycle
  /// Walking.
  case walking
}

/// Geographic coordinates in degrees.
public struct Coordinate: Hashable, Sendable, Codable {
  /// The latitude, −90 to 90.
  public var latitude: Double
  /// The longitude, −180 to 180.
  public var longitude: Double

  /// Creates coordinates from degrees.
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
