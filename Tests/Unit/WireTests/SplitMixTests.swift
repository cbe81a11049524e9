import Testing
import Wire

@Suite struct SplitMixTests {
  /// The first numbers of Vigna's splitmix64.c for this seed. A seed of the simulator is useful only as long as it
  /// gives the same run.
  @Test func `a seed gives the numbers of the published generator`() {
    var random = SplitMix(seed: 1_234_567)
    let numbers = (0..<3).map { _ in random.next() }
    let expected: [UInt64] = [
      6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
    ]
    #expect(numbers == expected)
    // The product of bound and number, divided by two to the 64.
    var bounded = SplitMix(seed: 1_234_567)
    let small = (0..<3).map { _ in bounded.below(10) }
    #expect(small == [3, 1, 5])
    let zeros = (0..<20).map { _ in bounded.below(1) }
    #expect(zeros.allSatisfy { $0 == 0 })
  }
}
