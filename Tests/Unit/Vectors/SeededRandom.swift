package import Wire

/// Random values for tests: the same for the same seed on every toolchain.
package struct SeededRandom {
  private var random: SplitMix

  package init(seed: UInt64) { random = SplitMix(seed: seed) }

  /// The next 64 bits.
  package mutating func next() -> UInt64 { random.next() }

  /// A number from 0 up to, but not including, the bound.
  package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  /// A number of random magnitude, so that every length of encoding occurs.
  private mutating func number() -> Int64 { Int64(bitPattern: next()) >> Int64(below(64)) }

  private mutating func finite() -> Double {
    while true {
      let value = Double(bitPattern: next())
      if Value.float(value).isWritable { return value }
    }
  }

  /// The same items in another order.
  package mutating func shuffled<Element>(_ items: [Element]) -> [Element] {
    var items = items
    for index in items.indices.dropFirst().reversed() { items.swapAt(index, below(index + 1)) }
    return items
  }

  /// A field value of any type.
  package mutating func value(depth: Int) -> Value {
    switch below(depth < Limits.depthMax ? 8 : 6) {
    case 0: .null
    case 1: .bool(below(2) == 1)
    case 2: .integer(number())
    case 3: .float(finite())
    case 4: .text(text())
    case 5: .bytes((0..<below(40)).map { _ in UInt8(below(256)) })
    default: .array((0..<below(6)).map { _ in value(depth: depth + 1) })
    }
  }

  private mutating func text() -> String {
    var scalars = String.UnicodeScalarView()
    for _ in 0..<below(30) {
      if let scalar = Unicode.Scalar(UInt32(next() % 0x11_0000) >> UInt32(below(20))) {
        scalars.append(scalar)
      }
    }
    return String(scalars)
  }
}
