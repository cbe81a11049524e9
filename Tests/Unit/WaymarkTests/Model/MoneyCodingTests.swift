import Foundation
import Model
import Testing

/// Amounts of money, and numbers that can't be stored, as `Codable` values.
struct MoneyCodingTests {
  private static let long = "1234567890123456789.0512345678"

  @Test(
    arguments: [
      ("33.33", "EUR", #"{"amount":"33.33","currency":"EUR"}"#), ("-5", nil, #"{"amount":"-5"}"#),
      (long, "JPY", #"{"amount":"1234567890123456789.0512345678","currency":"JPY"}"#),
    ] as [(String, String?, String)])
  func `an amount keeps its digits and its currency`(
    amount: String, currency: String?, expected: String
  ) throws {
    let money = try Money(exactly: amount, currency)
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let encoded = try encoder.encode(money)
    #expect(String(decoding: encoded, as: UTF8.self) == expected)
    #expect(try JSONDecoder().decode(Money.self, from: encoded) == money)
    let list = try PropertyListEncoder().encode([money])
    #expect(try PropertyListDecoder().decode([Money].self, from: list) == [money])
  }

  @Test(arguments: [#"{"currency":"EUR"}"#, #"{"amount":"much"}"#, #"{"amount":33.33}"#])
  func `what is no exact amount is refused`(text: String) {
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(Money.self, from: Data(text.utf8)) }
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity])
  func `a record with a number that is not finite is refused, and not encoded without it`(
    number: Double
  ) throws {
    let zone = try #require(TimeZone(identifier: "Europe/Rome"))
    let entry = HabitEntry(
      habitID: .new(), date: Date(timeIntervalSince1970: 1_777_730_400), zone: zone, value: number)
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(entry) }
    #expect(throws: EncodingError.self) { try PropertyListEncoder().encode([entry]) }
  }
}
