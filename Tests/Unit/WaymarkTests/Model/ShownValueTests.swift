import Model
import Testing

/// Values as text on one line.
struct ShownValueTests {
  private static let money = ShownValue.parts([
    .init("amount", .text("120.50")), .init("currency", .text("EUR")),
  ])

  private static let texts: [(value: ShownValue, text: String)] = [
    (.absent, "–"), (.flag(true), "yes"), (.flag(false), "no"), (.integer(-7), "-7"), (.number(1.5), "1.5"),
    (.text("Rome"), "Rome"), (.text(""), ""), (.list([]), ""),
    (.list([.text("a"), .integer(2), .flag(false)]), "a, 2, no"), (money, "amount 120.50, currency EUR"),
    (.parts([.init("amount", .text("7")), .init("currency", .absent)]), "amount 7"),
    (.list([money, .absent]), "amount 120.50, currency EUR, –"),
  ]

  @Test func `a value is one line of text, without the parts that it lacks`() {
    for (value, text) in Self.texts { #expect(value.description == text) }
  }
}
