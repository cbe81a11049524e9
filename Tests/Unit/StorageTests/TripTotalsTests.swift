import Testing

@testable import RecordTables
@testable import Storage

/// Sums of trips as stored.
struct TripTotalsTests {
  typealias Total = TripSummary.Total

  @Test(
    arguments: [
      (#"[]"#, []),
      (#"[{"amount":"12.5","currency":"EUR"}]"#, [Total(amount: "12.5", currency: "EUR")]),
      (
        #"[{"amount":"1","currency":null},{"amount":null,"currency":"円"}]"#,
        [Total(amount: "1", currency: nil), Total(amount: nil, currency: "円")]
      ),
      (#"[{"amount":"1","currency":"E\"R\\"}]"#, [Total(amount: "1", currency: #"E"R\"#)]),
    ] as [(String, [Total])])
  func `sums are read as they were written`(_ text: String, _ totals: [Total]) {
    #expect(totals.text == text)
    #expect([Total](text: Array(text.utf8)) == totals)
  }

  @Test(arguments: [#"[ {"currency":"EUR", "amount":"7"} ]"#, #"[{"amount":"7","currency":"\u0045UR"}]"#])
  func `sums formatted by another program are read too`(_ text: String) {
    #expect([Total](text: Array(text.utf8)) == [Total(amount: "7", currency: "EUR")])
  }

  @Test(arguments: [
    "", "[", #"[{"amount":"7""#, #"[{"amount":"7","currency":"EUR"}"#, #"[{"amount":"7","cur"#,
  ])
  func `anything but a list of sums is read as empty`(_ text: String) {
    #expect([Total](text: Array(text.utf8)).isEmpty)
  }
}
