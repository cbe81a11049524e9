// The standard library may change how it maps random draws to numbers. These functions don't, so seeds stay valid.
extension RandomNumberGenerator {
  /// A random number from 0 to below the bound.
  package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  /// True with a probability in thousandths.
  package mutating func happens(perThousand: Int) -> Bool { below(1_000) < perThousand }
}
