import Replication
import Testing
import Wire

@testable import RecordTables
@testable import Storage

/// Sums of costs that no longer fit into a number.
struct TripSumTests {
  private typealias Total = TripSummary.Total

  @Test
  func `a sum with too many digits is not known until it fits again, and that of another currency stays`()
    throws
  {
    let alice = try Device("alice")
    let rome = trip(1)
    func stay(_ number: UInt64, _ amount: String, _ currency: String) -> EntryDraft {
      lodging(number, of: rome, [5: .array([.text(amount), .text(currency)])])
    }
    func totals() throws -> [Total] {
      let found = try alice.store.tripSummary(rome.id).totals
      #expect(try alice.store.tripSummaries()[rome.id]?.totals == found)
      return found
    }
    let dollars = Total(amount: "2.50", currency: "USD")
    try alice.write(
      at: 10, insert(rome, [1: .text("Rome")]), stay(1, String(repeating: "9", count: 34), "EUR"),
      stay(2, "0.00001", "EUR"), stay(3, "1", "EUR"), stay(4, "2.50", "USD"))
    // The sum would have 35 digits before the point and five after it.
    #expect(try totals() == [Total(amount: nil, currency: "EUR"), dollars])
    try alice.write(at: 20, delete(lodging(2)))
    let exact = Total(amount: "1" + String(repeating: "0", count: 34), currency: "EUR")
    #expect(try totals() == [exact, dollars])
    try alice.write(at: 30, restore(lodging(2)), delete(lodging(1)))
    #expect(try totals() == [Total(amount: "1.00001", currency: "EUR"), dollars])
  }
}
