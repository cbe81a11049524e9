import JSONDocument
import Testing
import Wire

struct JSONTextTests {
  @Test(arguments: [
    " ", "[1,", "{\"a\" 1}", "{a:1}", "[01]", "[1.]", "nul", "[1] 2", "\"a", "\"é\u{1}\"", "\"\\x\"",
    "\"\\ud800\"", "\"\\u12g4\"", "{\"a\":1,\"a\":2}", "{\"\\u0061\":1,\"a\":2}", "{,}", "{\"a\":{\"b\":1,}}",
    "{\"a\":\"b\\", "{\"a\":[{\"b\":1},{\"b\":1,\"c\":[],\"b\":{}}]}",
  ])
  func `invalid text is refused at the same position and for the same reason as by parsing`(text: String) {
    for text in [text, "{\"list\":[0,\(text)]}", "{\"list\":[{\"a\":\(text)"] {
      let parsed = Result { () throws(JSONError) in try JSON.parse(text) }
      let checked = Result { () throws(JSONError) in try JSONText(checking: Array(text.utf8)) }
      guard case .failure(let expected) = parsed, case .failure(let error) = checked else {
        Issue.record("\(text) was read")
        continue
      }
      #expect(error == expected, "\(text)")
    }
  }

  @Test func `text that is not UTF-8 is refused, and so is deep nesting`() {
    for bytes: [UInt8] in [[0x22, 0xff, 0x22], [0x22, 0x5c, 0x6e, 0xe2, 0x22]] {
      #expect(throws: JSONError.self) { try JSONText(checking: bytes) }
    }
    let deep = Array(String(repeating: "[", count: 1_000_000).utf8)
    #expect(throws: JSONError.self) { try JSONText(checking: deep) }
  }

  @Test func `values and items equal those from parsing`() throws {
    let written =
      "\u{feff} {\"b\\u0031\": [1, {\"c\": [2, \"\\n\"]}, [], null ] ,\"a\":{\"d\":1.50},\"e\":[ ]}\n"
    let tree = try JSON.parse(written)
    let text = try JSONText(checking: Array(written.utf8))
    #expect(text.keys == ["b1", "a", "e"])
    for key in text.keys {
      #expect(text[key] == tree[key])
      #expect(text.list(key).map { Array($0) } == tree[key]?.array)
    }
    #expect(text["nothing"] == nil)
    #expect(text.list("nothing") == nil)
  }

  @Test(arguments: [0, 1, 1_023, 1_024, 1_025, 3_000])
  func `the parts of a list add up to the list`(count: Int) throws {
    // Lists within items are not split.
    let items = (0..<count).map { JSON.array([.integer($0), .array((0..<3).map { JSON.integer($0) })]) }
    let text = try JSONText(checking: JSON.object([.init("list", .array(items))]).bytes())
    let pieces = text.pieces("list").map { Array($0) }
    #expect(pieces.count == (count + JSONText.itemsInPiece - 1) / JSONText.itemsInPiece)
    #expect(Array(pieces.joined()) == items)
    #expect(text.list("list").map { Array($0) } == items)
    #expect(text.pieces("nothing").isEmpty)
  }

  @Test(arguments: ["[1]", "7", "{}"])
  func `text without members has no keys`(text: String) throws {
    #expect(try JSONText(checking: Array(text.utf8)).keys.isEmpty)
  }

  /// A list of a flat row, and all texts that differ from it by one inserted, removed or replaced byte.
  private static func neighbours(of text: String) -> [[UInt8]] {
    let bytes = Array(text.utf8)
    let others = Array("\"\\{]:,.-e01 a".utf8) + [0x1f, 0x7f, 0xc3]
    var texts = [bytes]
    for index in bytes.indices {
      texts.append(Array(bytes[..<index] + bytes[(index + 1)...]))
      for other in others {
        texts.append(Array(bytes[..<index] + [other] + bytes[index...]))
        texts.append(Array(bytes[..<index] + [other] + bytes[(index + 1)...]))
      }
    }
    return texts
  }

  @Test(arguments: [
    "{\"list\":[{\"id\":\"A-1\",\"b\":-0.5,\"c\":10},{\"a\":1}]}",
    "{\"list\" : [ { \"a\" : \"\" , \"aa\":0 } ]}",
  ])
  func `flat rows are refused and read exactly like all others, whatever byte is wrong`(text: String) throws {
    var flat = 0
    for bytes in Self.neighbours(of: text) {
      let shown = String(decoding: bytes, as: UTF8.self)
      let parsed = Result { () throws(JSONError) in try JSON.parse(bytes) }
      let checked = Result { () throws(JSONError) in try JSONText(checking: bytes) }
      switch (parsed, checked) {
      case (.failure(let expected), .failure(let error)): #expect(error == expected, "\(shown)")
      case (.success(let tree), .success(let text)):
        flat += try lookAtRows(text, tree)
      default: Issue.record("\(shown) is accepted by only one of the two parsers")
      }
    }
    #expect(flat > 50)
  }

  /// Reads flat rows by the fast path and all else as a tree; returns how many were flat.
  private func lookAtRows(_ text: JSONText, _ tree: JSON) throws -> Int {
    var rows: [JSON] = []
    var flat = 0
    for piece in text.pieces("list") {
      var items = piece
      while true {
        var row: JSON = [:]
        let end = items.flatEnd { key, value, isText in
          var letters = key
          var name: [UInt8] = []
          while letters > 0 {
            name.insert(UInt8(truncatingIfNeeded: letters), at: 0)
            letters >>= 8
          }
          let content = String(decoding: value.indices.map { value[$0] }, as: UTF8.self)
          row[String(decoding: name, as: UTF8.self)] = isText ? .string(content) : .number(content)
          return true
        }
        if let end {
          items.pass(to: end)
          rows.append(row)
          flat += 1
        } else if let item = items.next() {
          rows.append(item)
        } else {
          break
        }
      }
    }
    #expect(rows == tree["list"]?.array ?? [])
    return flat
  }
}
