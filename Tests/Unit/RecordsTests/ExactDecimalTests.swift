import Records
import Testing

struct ExactDecimalTests {
  @Test(arguments: [
    "0", "0.00", "410.56", "410.5600", "-0.01", "9999999999999999999999999999999999",
    "0.000000000000000000000000000001",
  ])
  func `an amount keeps its digits`(text: String) throws {
    #expect(try #require(ExactDecimal(text)).description == text)
  }

  @Test(arguments: [
    "", "-", ".5", "5.", "01", "1e3", "+1", " 1", "1 ", "-0", "-0.0", "1,5", "٣", "NaN", "--1", "1.2.3",
    "99999999999999999999999999999999999", "0.0000000000000000000000000000001",
  ])
  func `an invalid amount is refused`(text: String) { #expect(ExactDecimal(text) == nil) }

  @Test(arguments: [
    ("0.1", "0.2", "0.3"), ("410.56", "-0.560", "410.000"), ("1", "0.01", "1.01"), ("-5", "5", "0"),
    ("99999999999.99", "0.01", "100000000000.00"),
  ])
  func `sums are exact`(left: String, right: String, sum: String) throws {
    let (a, b) = (try #require(ExactDecimal(left)), try #require(ExactDecimal(right)))
    #expect(try a.adding(b).description == sum)
    #expect(try a.adding(b).subtracting(b).isEqual(to: a))
  }

  @Test func `a sum with too many digits is refused`() throws {
    let large = try #require(ExactDecimal("9999999999999999999999999999999999"))
    let small = try #require(ExactDecimal("0.000000000000000000000000000001"))
    #expect(throws: DecimalOverflow.self) { try large.adding(small) }
  }

  @Test(arguments: [
    ("410.56", "410.56"), ("410.560", "410.560"), ("1e3", "1000"), ("1.50E1", "15.0"), ("12e-3", "0.012"),
    ("-0.0", "0.0"), ("0", "0"), ("123456789012345", "123456789012345"),
    ("0.1000000000000000055511151231257827", "0.1"), ("410.56000000000000227", "410.56"),
    ("0.30000000000000004", "0.30000000000000004"), ("99999999999.990005", "99999999999.99"),
    ("12345678901234567890", "12345678901234567000"), ("1e-7", "0.0000001"),
  ])
  func `a number in a file keeps its digits, or becomes the shortest decimal of its double`(
    number: String, text: String
  ) {
    #expect(ExactDecimal(jsonNumber: number)?.description == text)
  }

  @Test(arguments: ["1e400", "1e-400", "1e99999999999999999999", "5e-324", "1e40"])
  func `a number that needs too many digits is refused`(number: String) {
    #expect(ExactDecimal(jsonNumber: number) == nil)
  }

  @Test(
    arguments: [
      ([0.1, 0.2], 0.3), ([3, 0.1, 0.2], 3.3), ([0.7, 0.1], 0.8), ([1, 2, 3], 6), ([], 0), ([-0.1, 0.1], 0),
      ([9_007_199_254_740_991, 0.5], 9_007_199_254_740_991.5), ([1e300, 1], 1e300), ([1e-300, 0.1], 0.1),
    ] as [([Double], Double)])
  func `numbers are added up as decimals, not as binary fractions`(numbers: [Double], sum: Double) {
    var found = DecimalSum()
    for number in numbers { found.add(number) }
    #expect(found.value == sum)
  }
}
