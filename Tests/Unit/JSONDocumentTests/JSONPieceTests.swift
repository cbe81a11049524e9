import Foundation
import JSONDocument
import Testing

/// Documents that are written in pieces, sorted, read strictly, or passed to an encoder of another kind.
struct JSONPieceTests {
  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  // MARK: Writing

  @Test func `the text of a document is split at its placeholders, at the level of indentation that it has`()
  {
    let json = JSON.object([
      .init("a", 1), .init("list", .placeholder(0)), .init("b", [.placeholder(12)]), .init("c", true),
    ])
    let (texts, rest) = json.pieces(.pretty, indent: 1)
    #expect(texts.map { $0.placeholder } == [0, 12])
    #expect(
      texts.map { text($0.text) } == [
        "{\n    \"a\": 1,\n    \"list\": ", ",\n    \"b\": [\n      ",
      ])
    #expect(text(rest) == "\n    ],\n    \"c\": true\n  }")
    let compact = json.pieces(.compact)
    #expect(compact.texts.map { text($0.text) } == [#"{"a":1,"list":"#, #","b":["#])
    #expect(text(compact.rest) == #"],"c":true}"#)
    let plain: JSON = ["a": [1, "x"]]
    #expect(plain.pieces(.pretty).texts.isEmpty && plain.pieces(.pretty).rest == plain.bytes(.pretty))
  }

  @Test func `sorted keys are in the order of their bytes, at every level`() throws {
    let json = try JSON.parse(#"{"é":1,"a":{"d":1,"c":[{"z":0,"y":0}]},"Z":3,"aa":4,"":5}"#)
    #expect(
      json.text(.init(sortsKeys: true)) == #"{"":5,"Z":3,"a":{"c":[{"y":0,"z":0}],"d":1},"aa":4,"é":1}"#)
    #expect(json.text().hasPrefix(#"{"é":1,"a":{"d":1"#), "otherwise they keep their order")
  }

  // MARK: Reading

  @Test(arguments: [
    "-0", "0.0", "1E+2", "1e-2", "-12.5e10", "9223372036854775808", "[0,-1]",
  ])
  func `a number keeps the form in which it was written`(text: String) throws {
    #expect(try JSON.parse(text).text() == text)
  }

  @Test(arguments: [
    (#""\b\f\r\t\/\"\\""#, "\u{8}\u{c}\r\t/\"\\"), (#""\uD83D\uDC0C\u00e9\u00E9""#, "🐌éé"),
    (#""\ud800\udc00\udbff\udfff""#, "\u{10000}\u{10FFFF}"), (#""\u0041\ud7ff\ue000""#, "A\u{D7FF}\u{E000}"),
  ])
  func `an escape is the character that it names`(text: String, value: String) throws {
    let string = try #require(try JSON.parse(text).string)
    #expect(Array(string.unicodeScalars) == Array(value.unicodeScalars))
  }

  @Test(arguments: [
    #""\udc00""#, #""\ud800""#, #""\ud800x""#, #""\ud800\n""#, #""\ud800\ud800""#, #""\udbff\ue000""#,
    #""\u12""#,
    #""\U0041""#, #""\'""#, "[1,]", "[,1]", #"{"a":1,}"#, "[1 2]", #"{"a":1 "b":2}"#, "-", "--1", "1.e1",
    ".5",
    "0x1", "00", "-01", "1e", "1e+", "tru", "True", "'a'", "[1}", "{]", "\"a\tb\"", "// x\n1",
    "\u{feff}\u{feff}1",
  ])
  func `nothing is read that the grammar does not allow`(text: String) {
    #expect(throws: JSONError.self) { try JSON.parse(text) }
    #expect(throws: JSONError.self) { try JSONText(checking: Array(text.utf8)) }
  }

  @Test
  func `a key may be repeated in another object, and in another form of Unicode, but not in its own object`()
    throws
  {
    for text in [
      #"{"a":{"a":1},"b":{"a":{"a":2}}}"#, #"[{"a":1},{"a":1}]"#, "{\"\u{e9}\":1,\"e\u{301}\":2}",
    ] {
      #expect(try JSON.parse(text).text() == text)
    }
    let many = (0..<100).map { "\"k\($0)\":0" }.joined(separator: ",")
    #expect(try JSON.parse("{\(many)}").members?.count == 100)
    for text in [
      "{\(many),\"k0\":1}", "{\(many),\"k99\":1}", "{\"k50\":1,\(many)}", #"{"b":{"a":1},"a":0,"b":1}"#,
      #"{"a":{"c":1,"d":2,"c":3}}"#, #"[{"x":[{"a":1}],"x":1}]"#,
    ] {
      #expect(throws: JSONError.self, "\(text.prefix(40))") { try JSON.parse(text) }
    }
  }

  // MARK: Values

  @Test func `a value is read as what it is, and as nothing else`() {
    for text in ["1.0", "1e2", "9223372036854775808", "-9223372036854775809"] {
      #expect(JSON.number(text).integer == nil, "\(text)")
    }
    #expect(JSON.number("-9223372036854775808").integer == Int64.min)
    #expect(JSON.number("9223372036854775807").integer == Int64.max)
    #expect(JSON.number("1e999").float == nil && JSON.number("1e2").float == 100)
    let values: [JSON] = [nil, true, 1, "1", [1], ["a": 1]]
    #expect(values.map(\.isNull) == [true, false, false, false, false, false])
    #expect(values.map { $0.boolean != nil } == [false, true, false, false, false, false])
    #expect(values.map { $0.integer != nil } == [false, false, true, false, false, false])
    #expect(values.map { $0.string != nil } == [false, false, false, true, false, false])
    #expect(values.map { $0.array != nil } == [false, false, false, false, true, false])
    #expect(values.map { $0.members != nil } == [false, false, false, false, false, true])
    let list: JSON = [1, 2]
    #expect(list[1] == 2 && list[2] == nil && list[-1] == nil && list["a"] == nil)
    #expect(JSON.float(.nan).isNull && JSON.text(nil).isNull && JSON.text("") == "")
  }

  // MARK: Encoders

  private struct Nested: Encodable {
    enum CodingKeys: CodingKey { case inner, list, extra }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      var inner = container.nestedContainer(keyedBy: CodingKeys.self, forKey: .inner)
      try inner.encode(Double.infinity, forKey: .extra)
      var list = container.nestedUnkeyedContainer(forKey: .list)
      try list.encode("x")
      try list.encodeNil()
      var last = list.nestedContainer(keyedBy: CodingKeys.self)
      try last.encode(true, forKey: .extra)
      try list.encode(list.count)
      try 5.encode(to: container.superEncoder())
      try inner.encode([Int](), forKey: .list)
    }
  }

  @Test func `containers within containers grow where they were begun`() throws {
    #expect(
      try JSONValueEncoder().encode(Nested()).text()
        == #"{"inner":{"extra":null,"list":[]},"list":["x",null,{"extra":true},3],"super":5}"#)
  }

  private struct Mixed: Decodable, Equatable {
    var numbers: [Int8] = []
    var texts: [String] = []
    var absent = 0

    init(numbers: [Int8], texts: [String], absent: Int) {
      (self.numbers, self.texts, self.absent) = (numbers, texts, absent)
    }

    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      while !container.isAtEnd {
        if try container.decodeNil() {
          absent += 1
        } else if let number = try? container.decode(Int8.self) {
          numbers.append(number)
        } else {
          texts.append(try container.decode(String.self))
        }
      }
    }
  }

  @Test func `an item that is not of one type can be read as another`() throws {
    let decoder = JSONValueDecoder()
    #expect(
      try decoder.decode(Mixed.self, from: ["a", 127, nil, "1", -128, nil])
        == Mixed(numbers: [127, -128], texts: ["a", "1"], absent: 2))
    for item: JSON in [128, -129, true, [1], .number("1.0")] {
      #expect(throws: DecodingError.self, "\(item)") { try decoder.decode(Mixed.self, from: ["a", item]) }
    }
  }

  @Test func `a document passes through an encoder and a decoder of an app`() throws {
    let json: JSON = [true, false, 0, -3, 1.5, "é\n", ["a": [["b": 1]]], [], [:]]
    let data = try JSONEncoder().encode(json)
    #expect(try JSON.parse(Array(data)) == json)
    #expect(try JSONDecoder().decode(JSON.self, from: data) == json)
    let absent: JSON = [nil, ["x": nil]]
    #expect(try JSON.parse(Array(try JSONEncoder().encode(absent))) == absent)
  }
}
