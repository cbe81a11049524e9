import Testing
import Wire

@Suite struct CBORRandomTests {
  @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
  func `random values come back the same`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    for _ in 0..<500 {
      let value = random.value(depth: 1)
      let bytes = value.encoded
      #expect(try Value(encoded: bytes[...]) == value)
      #expect(try skipped(bytes) == 0..<bytes.count)
    }
  }

  @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
  func `damaged bytes that are accepted are still the one encoding`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var accepted = 0
    for _ in 0..<3_000 {
      var bytes = random.value(depth: 3).encoded
      let index = random.below(bytes.count)
      bytes[index] = UInt8(random.below(256))
      let value = try? Value(encoded: bytes[...])
      #expect((value == nil) == (failure { _ = try skipped(bytes) } != nil))
      guard let value else { continue }
      accepted += 1
      #expect(value.encoded == bytes)
    }
    #expect(accepted > 100)
  }

  @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
  func `random bytes are read or refused, never more`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    for _ in 0..<3_000 {
      let bytes = (0..<random.below(24)).map { _ in UInt8(random.below(256)) }
      guard let value = try? Value(encoded: bytes[...]) else { continue }
      #expect(value.encoded == bytes)
    }
  }
}

/// SplitMix64: the same numbers for the same seed on every toolchain.
struct SeededRandom {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }

  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  /// A number whose size is random too, so that every length of encoding is met.
  private mutating func number() -> Int64 { Int64(bitPattern: next()) >> Int64(below(64)) }

  private mutating func finite() -> Double {
    while true {
      let value = Double(bitPattern: next())
      if Value.float(value).isWritable { return value }
    }
  }

  mutating func value(depth: Int) -> Value {
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
