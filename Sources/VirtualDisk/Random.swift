// The standard library may map draws to numbers in another way in its next version; these stay.
extension RandomNumberGenerator {
  /// A number from 0 up to, not including, the bound.
  package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  /// True in so many of a thousand cases.
  package mutating func happens(perThousand: Int) -> Bool { below(1_000) < perThousand }
}
