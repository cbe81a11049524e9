/// SplitMix64: the same numbers for the same seed on every toolchain.
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
}

// The standard library may map draws to numbers in another way in its next version; these stay.
extension RandomNumberGenerator {
  /// A number from 0 up to, not including, the bound.
  package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  /// True in so many of a thousand cases.
  package mutating func happens(perThousand: Int) -> Bool { below(1_000) < perThousand }
}
