/// Decisions read from the bytes of an input, front to back, so that the fuzzer's changes to bytes change what
/// happens. Past the end of the input every decision is zero.
struct Choices {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { position >= bytes.count }

  mutating func byte() -> UInt8 {
    guard position < bytes.count else { return 0 }
    defer { position += 1 }
    return bytes[position]
  }

  mutating func flag() -> Bool { byte() & 1 == 1 }

  /// A number from 0 up to, but not including, the bound, which is at most 256.
  mutating func below(_ bound: Int) -> Int { Int(byte()) % bound }

  mutating func pick<Item>(_ items: [Item]) -> Item { items[below(items.count)] }

  mutating func word() -> UInt64 {
    var word: UInt64 = 0
    for _ in 0..<8 { word = word << 8 | UInt64(byte()) }
    return word
  }

  /// A number of any size: mostly small, sometimes at a boundary.
  mutating func number() -> UInt64 {
    let first = byte()
    switch first {
    case 0..<200: return UInt64(first)
    case 200..<220: return UInt64(byte()) << 8 | UInt64(byte())
    case 220..<235: return word()
    default: return Self.edges[Int(first) % Self.edges.count]
    }
  }

  private static let edges: [UInt64] = [
    .max, .max - 1, UInt64(Int64.max), UInt64(Int64.max) + 1, UInt64(Int64.max) - 1, 1 << 63, 1 << 48,
    (1 << 48) - 1, 1 << 32, (1 << 32) - 1, 1 << 16, 65_535, 256, 255,
  ]

  /// As many bytes as the next ones specify, at most `max`.
  mutating func bytes(max: Int) -> [UInt8] {
    let first = Int(byte())
    let length = first < 240 ? first : Int(byte()) << 8 | Int(byte())
    return take(min(length, max))
  }

  mutating func take(_ count: Int) -> [UInt8] {
    let end = min(bytes.count, position + count)
    defer { position = end }
    return Array(bytes[min(position, end)..<end])
  }

  mutating func rest() -> [UInt8] { take(bytes.count) }
}
