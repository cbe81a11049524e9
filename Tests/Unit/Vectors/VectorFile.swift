import Foundation
package import Wire

/// Reads a file of Protocol/vectors.
package func vectors<Content: Decodable>(_ name: String, as type: Content.Type) throws -> Content {
  try JSONDecoder().decode(
    type, from: try Data(contentsOf: chapters.appending(path: "vectors").appending(path: name)))
}

/// Reads a chapter of Protocol.
package func chapter(_ name: String) throws -> String {
  String(decoding: try Data(contentsOf: chapters.appending(path: name)), as: UTF8.self)
}

private let chapters = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
  .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Protocol")

/// A vector file with unexpected content.
package struct BrokenVector: Error {
  package let text: String

  package init(_ text: String) { self.text = text }
}

/// The bytes of a vector: hexadecimal text, where `hh*count` between spaces repeats a byte.
package func expand(_ text: String) throws -> [UInt8] {
  var result: [UInt8] = []
  for part in text.split(separator: " ") {
    let pieces = part.split(separator: "*")
    guard let bytes = bytesFromHexadecimal(pieces[0]) else { throw BrokenVector(text) }
    if pieces.count == 2, let count = Int(pieces[1]), let byte = bytes.first {
      result += [UInt8](repeating: byte, count: count)
    } else {
      result += bytes
    }
  }
  return result
}

/// A value in the notation of the vectors.
package struct DescribedValue: Decodable {
  let type: String
  var bool: Bool?
  var decimal: String?
  var bits: String?
  var utf8: String?
  var bytes: String?
  var items: [DescribedValue]?
  var times: Int?

  /// The value itself.
  package func value() throws -> Value {
    switch type {
    case "null": return .null
    case "bool": return .bool(bool ?? false)
    case "integer":
      guard let number = Int64(decimal ?? "") else { throw BrokenVector(decimal ?? "") }
      return .integer(number)
    case "float":
      guard let pattern = UInt64(bits ?? "", radix: 16) else { throw BrokenVector(bits ?? "") }
      return .float(Double(bitPattern: pattern))
    case "text": return .text(String(decoding: try expand(utf8 ?? ""), as: UTF8.self))
    case "bytes": return .bytes(try expand(bytes ?? ""))
    default:
      let values = try (items ?? []).map { try $0.value() }
      return .array(times.map { Array(repeating: values[0], count: $0) } ?? values)
    }
  }
}
