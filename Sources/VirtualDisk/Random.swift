// The standard library may change how it maps random bits to numbers. These functions never change, so that a seed
// keeps giving the same run.
extension RandomNumberGenerator {
  /// Returns a random number that is at least 0 and less than the bound.
  package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  /// Returns true with a probability given in thousandths.
  package mutating func happens(perThousand: Int) -> Bool { below(1_000) < perThousand }
}
