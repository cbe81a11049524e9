import Foundation
import Testing
import Vectors
import Wire

@Suite struct CBORVectorTests {
  private struct File: Decodable {
    let values: Section<ValueCase>
    let maps: Section<MapCase>
  }

  private struct Section<Accepted: Decodable>: Decodable {
    let accepted: [Accepted]
    let refused: [RefusedCase]
  }

  private struct ValueCase: Decodable {
    let name: String
    let bytes: String
    let value: DescribedValue
  }

  private struct MapCase: Decodable {
    struct Pair: Decodable {
      let key: String
      let value: DescribedValue
    }

    let name: String
    let bytes: String
    let entries: [Pair]
  }

  private struct RefusedCase: Decodable {
    let flag: String
    let name: String
    let bytes: String
  }

  private let file: File

  init() throws { file = try vectors("cbor.json", as: File.self) }

  @Test func `accepted values are read and written byte for byte`() throws {
    for vector in file.values.accepted {
      let bytes = try expand(vector.bytes)
      let expected = try vector.value.value()
      #expect(try Value(encoded: bytes[...]) == expected, "\(vector.name)")
      #expect(expected.encoded == bytes, "\(vector.name)")
      #expect(try skipped(bytes) == 0..<bytes.count, "\(vector.name)")
    }
  }

  @Test func `rejected values give the expected error, read or skipped`() throws {
    for vector in file.values.refused {
      let bytes = try expand(vector.bytes)
      let comment = Comment(rawValue: "\(vector.flag): \(vector.name)")
      let reading = failure { _ = try Value(encoded: bytes[...]) }
      let skipping = failure { _ = try skipped(bytes) }
      #expect(reading.map(Self.kind).map { Self.kinds(of: vector.flag).contains($0) } == true, comment)
      #expect(skipping == reading, comment)
    }
  }

  @Test func `an accepted value truncated anywhere is rejected as truncated`() throws {
    for vector in file.values.accepted {
      let bytes = try expand(vector.bytes)
      let cuts = bytes.count < 2_000 ? Array(bytes.indices) : [0, 1, 2, bytes.count / 2, bytes.count - 1]
      for count in cuts {
        let error = failure { _ = try Value(encoded: bytes[..<count]) }
        #expect(error.map(Self.kind) == "truncated", "\(vector.name) at \(count)")
        #expect(failure { _ = try skipped(Array(bytes[..<count])) } == error, "\(vector.name) at \(count)")
      }
    }
  }

  @Test func `accepted maps are read key by key`() throws {
    for vector in file.maps.accepted {
      let pairs = try readMap(try expand(vector.bytes))
      #expect(pairs.map { "\($0.key)" } == vector.entries.map(\.key), "\(vector.name)")
      #expect(pairs.map(\.value) == (try vector.entries.map { try $0.value.value() }), "\(vector.name)")
    }
  }

  @Test func `rejected maps give the expected error`() throws {
    for vector in file.maps.refused {
      let bytes = try expand(vector.bytes)
      let error = failure { _ = try readMap(bytes) }
      #expect(
        error.map(Self.kind).map { Self.kinds(of: vector.flag).contains($0) } == true,
        "\(vector.flag): \(vector.name) gave \(String(describing: error))")
    }
  }

  private func readMap(_ bytes: [UInt8]) throws(WireError) -> [(key: UInt64, value: Value)] {
    var reader = CBORReader(bytes)
    var pairs: [(key: UInt64, value: Value)] = []
    for _ in 0..<(try reader.map(max: Limits.setItemsMax)) {
      let key = try reader.nextKey(after: pairs.last?.key)
      pairs.append((key, try reader.value()))
    }
    try reader.end()
    return pairs
  }

  /// The errors that may report a broken rule.
  private static func kinds(of flag: String) -> Set<String> {
    switch flag {
    case "long_integer", "indefinite", "reserved", "short_float", "float_value", "simple": ["notCanonical"]
    case "key_order", "key_duplicate": ["notCanonical"]
    case "tag", "map_as_value", "key_type": ["unexpected"]
    case "integer_range", "depth", "items", "text_length", "bytes_length": ["limit"]
    case "declared_length": ["limit"]
    case "utf8": ["invalidText"]
    case "truncated": ["truncated"]
    case "trailing": ["trailing"]
    default: []
    }
  }

  private static func kind(_ error: WireError) -> String {
    switch error {
    case .truncated: "truncated"
    case .notCanonical: "notCanonical"
    case .unexpected: "unexpected"
    case .invalidText: "invalidText"
    case .trailing: "trailing"
    case .limit: "limit"
    }
  }
}

/// The error of a value's check on bytes that should be exactly one value.
func skipped(_ bytes: [UInt8]) throws(WireError) -> Range<Int> {
  var reader = CBORReader(bytes)
  let range = try reader.skipValue()
  try reader.end()
  return range
}

/// The wire error that the body throws; nil if it throws none.
func failure(_ body: () throws -> Void) -> WireError? {
  do {
    try body()
    return nil
  } catch {
    return error as? WireError
  }
}
