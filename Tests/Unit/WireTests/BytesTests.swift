import Testing
import Vectors
import Wire

@Suite struct BytesTests {
  private func random32(_ random: inout SeededRandom) -> Bytes32 {
    // Words of all ones and zeros are frequent, so that carries propagate.
    func word() -> UInt64 {
      switch random.below(4) {
      case 0: 0
      case 1: .max
      default: random.next()
      }
    }
    return Bytes32(word(), word(), word(), word())
  }

  /// Addition of two big-endian numbers by hand, byte by byte.
  private func sum(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
    var result = left
    var carry = 0
    for index in left.indices.reversed() {
      let total = Int(left[index]) + Int(right[index]) + carry
      result[index] = UInt8(total & 255)
      carry = total >> 8
    }
    return result
  }

  @Test func `thirty-two bytes add and subtract modulo two to the 256`() {
    var random = SeededRandom(seed: 1)
    for _ in 0..<2_000 {
      let (a, b, c) = (random32(&random), random32(&random), random32(&random))
      #expect((a &+ b).bytes == sum(a.bytes, b.bytes))
      #expect(a &+ b == b &+ a)
      #expect((a &+ b) &+ c == a &+ (b &+ c))
      #expect((a &+ b) &- b == a)
      #expect((a &- b) &+ b == a)
      #expect(a &+ .zero == a && a &- .zero == a && a &- a == .zero)
    }
    let one = Bytes32(0, 0, 0, 1)
    #expect(Bytes32(.max, .max, .max, .max) &+ one == .zero)
    #expect(.zero &- one == Bytes32(.max, .max, .max, .max))
  }

  @Test func `identifiers are ordered like their bytes`() throws {
    var random = SeededRandom(seed: 2)
    for _ in 0..<2_000 {
      let (a, b) = (random32(&random), random32(&random))
      #expect((a < b) == a.bytes.lexicographicallyPrecedes(b.bytes))
      #expect((DeviceKey(a) < DeviceKey(b)) == (a < b))
      let (left, right) = (Bytes16(a.word0, a.word1), Bytes16(b.word0, b.word1))
      #expect((left < right) == left.bytes.lexicographicallyPrecedes(right.bytes))
      #expect((RecordID(left) < RecordID(right)) == (left < right))
      #expect(Bytes32(a.bytes) == a && Bytes16(left.bytes) == left)
      #expect(DeviceKey(hex: DeviceKey(a).description) == DeviceKey(a))
      #expect(RecordID(hex: RecordID(left).description.uppercased()) == RecordID(left))
    }
  }

  @Test func `texts of other lengths or with other digits are not identifiers`() {
    for count in [0, 15, 17, 31, 33] {
      let bytes = [UInt8](repeating: 7, count: count)
      #expect(Bytes32(bytes) == nil && Bytes16(bytes) == nil)
      #expect(DeviceKey(hex: hexadecimal(bytes)) == nil && RecordID(hex: hexadecimal(bytes)) == nil)
    }
    #expect(DeviceKey(hex: String(repeating: "g", count: 64)) == nil)
    #expect(DeviceKey(hex: String(repeating: "0", count: 63)) == nil)
  }

  @Test func `a slice of a longer buffer is read at its position`() {
    let buffer = [UInt8](0..<64)
    #expect(Bytes32(buffer[16..<48])?.bytes == Array(buffer[16..<48]))
    #expect(Bytes16(buffer[40..<56])?.bytes == Array(buffer[40..<56]))
  }

  @Test func `empty values are null, empty text, empty bytes and an empty array`() {
    for value in [Value.null, .text(""), .bytes([]), .array([])] { #expect(value.isEmpty) }
    for value in [Value.bool(false), .integer(0), .float(0), .text("\0"), .bytes([0]), .array([.null])] {
      #expect(!value.isEmpty)
    }
  }

  @Test func `floats that the wire format does not have are reported before they are written`() {
    for number in [Double.nan, .infinity, -.infinity, -0.0] {
      #expect(!Value.float(number).isWritable)
      #expect(!Value.array([.array([.float(number)])]).isWritable)
    }
    for number in [0.0, -Double.leastNonzeroMagnitude, Double.greatestFiniteMagnitude] {
      #expect(Value.float(number).isWritable)
    }
  }
}
