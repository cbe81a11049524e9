/// A small deterministic random number generator (Steele, Lea, Flood: "Fast splittable pseudorandom number generators",
/// 2014). It maps numbers to ranges without using the standard library, so that a seed gives the same numbers with
/// every toolchain.
package struct SplitMix: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }

  /// Returns a random number less than `bound`, which must be positive.
  package mutating func below(_ bound: UInt64) -> UInt64 { next().multipliedFullWidth(by: bound).high }
}
