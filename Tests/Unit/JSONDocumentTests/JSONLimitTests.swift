import JSONDocument
import Testing
import Wire

/// Documents at the limits of depth, of keys and of numbers: what one parser reads, the other reads as well.
struct JSONLimitTests {
  /// The values or errors of both parsers, with a limit of four levels.
  private func read(_ text: String) -> (parsed: Result<JSON, JSONError>, checked: Result<JSONText, JSONError>)
  {
    let bytes = Array(text.utf8)
    return (
      Result { () throws(JSONError) in try JSON.parse(bytes, depthMax: 4) },
      Result { () throws(JSONError) in try JSONText(checking: bytes, depthMax: 4) }
    )
  }

  @Test(arguments: [
    (#"{"list":[{"a":{"b":1}}]}"#, true), (#"{"list":[{"a":{"b":[]}}]}"#, false),
    (#"{"list":[{"a":{"b":{}}}]}"#, false), (#"{"list":[[[1]]]}"#, true), (#"{"list":[[[[]]]]}"#, false),
    (#"[[[{"a":1,"b":"x"}]]]"#, true), (#"[[[[{"a":1,"b":"x"}]]]]"#, false), (#"{"a":{"b":{"c":{}}}}"#, true),
    (#"{"a":{"b":{"c":{"d":{"e":1}}}}}"#, false),
  ])
  func `a document is read up to the same depth by both parsers`(text: String, isRead: Bool) {
    switch read(text) {
    case (.success, .success): #expect(isRead, "\(text)")
    case (.failure(let parsed), .failure(let checked)):
      #expect(!isRead && parsed == checked, "\(text): \(parsed), \(checked)")
      #expect(parsed.reason == "nested deeper than 4 levels")
    default: Issue.record("\(text) is accepted by only one of the two parsers")
    }
  }

  @Test func `values at the greatest depth are returned as they are`() throws {
    let written = #"{"a":[[[1]]],"b":{"c":{"d":2}},"list":[[[3]],{"e":{}}]}"#
    let text = try JSONText(checking: Array(written.utf8), depthMax: 4)
    #expect(text["a"]?.text() == "[[[1]]]" && text["b"]?.text() == #"{"c":{"d":2}}"#)
    #expect(text.list("list").map { $0.map { $0.text() } } == ["[[3]]", #"{"e":{}}"#])
    #expect(text.pieces("list").flatMap { $0.map { $0.text() } } == ["[[3]]", #"{"e":{}}"#])
  }

  @Test(arguments: [1, 15, 16, 17, 40])
  func `a key that is repeated in a row is refused by both parsers, however many keys the row has`(count: Int)
    throws
  {
    let keys = (0..<count).map { "\"k\($0)\":\($0)" }
    let whole = "{\"list\":[{\(keys.joined(separator: ","))}]}"
    let row = try #require(try JSON.parse(whole)["list"]?[0])
    #expect(try JSONText(checking: Array(whole.utf8)).list("list").map { Array($0) } == [row])
    for key in [0, count / 2, count - 1] {
      let more = keys + ["\"k\(key)\":9"]
      let twice = "{\"list\":[{\(more.joined(separator: ","))}]}"
      let parsed = #expect(throws: JSONError.self) { try JSON.parse(twice) }
      let checked = #expect(throws: JSONError.self) { try JSONText(checking: Array(twice.utf8)) }
      #expect(parsed == checked && parsed?.reason.contains("\"k\(key)\" appears twice") == true)
    }
  }

  // MARK: Values of every type

  private struct Numbers: Codable, Equatable {
    var int8: Int8?
    var int16: Int16?
    var int32: Int32?
    var int64: Int64?
    var int: Int?
    var uint8: UInt8?
    var uint16: UInt16?
    var uint32: UInt32?
    var uint64: UInt64?
    var uint: UInt?
    var float: Float?
    var double: Double?
    var flag: Bool?
    var text: String?
  }

  private static let keys = [
    "int8", "int16", "int32", "int64", "int", "uint8", "uint16", "uint32", "uint64", "uint", "float",
    "double",
    "flag", "text",
  ]

  @Test func `an absent value of any type is null, and its key is there`() throws {
    let json = try JSONValueEncoder().encode(Numbers())
    #expect(json.members?.map(\.key) == Self.keys)
    #expect(json.members?.map(\.value.isNull) == Self.keys.map { _ in true })
    #expect(try JSONValueDecoder().decode(Numbers.self, from: json) == Numbers())
    #expect(try JSONValueDecoder().decode(Numbers.self, from: [:]) == Numbers())
  }

  @Test func `the least and the greatest value of every type come back`() throws {
    let least = Numbers(
      int8: .min, int16: .min, int32: .min, int64: .min, int: .min, uint8: 0, uint16: 0, uint32: 0, uint64: 0,
      uint: 0, float: -0.5, double: -Double.greatestFiniteMagnitude, flag: false, text: "")
    let greatest = Numbers(
      int8: .max, int16: .max, int32: .max, int64: .max, int: .max, uint8: .max, uint16: .max, uint32: .max,
      uint64: .max, uint: .max, float: 1.25, double: .greatestFiniteMagnitude, flag: true, text: "é\n")
    for numbers in [least, greatest] {
      let json = try JSON.parse(try JSONValueEncoder().encode(numbers).bytes())
      #expect(try JSONValueDecoder().decode(Numbers.self, from: json) == numbers)
    }
    let list: [UInt16] = [0, .max]
    #expect(try JSONValueEncoder().encode(list) == [0, 65_535])
    #expect(try JSONValueDecoder().decode([UInt16].self, from: [0, 65_535]) == list)
  }

  @Test(arguments: [
    ("int8", "128"), ("int8", "-129"), ("int16", "32768"), ("int32", "2147483648"),
    ("int64", "9223372036854775808"), ("int", "-9223372036854775809"), ("uint8", "256"), ("uint8", "-1"),
    ("uint16", "65536"), ("uint32", "4294967296"), ("uint64", "18446744073709551616"), ("uint", "-1"),
    ("int", "1.0"), ("double", "1e999"), ("flag", "1"), ("text", "1"),
  ])
  func `a number that a type can't hold is refused, not cut off`(key: String, digits: String) {
    let json: JSON = .object([.init(key, .number(digits))])
    #expect(throws: DecodingError.self) { try JSONValueDecoder().decode(Numbers.self, from: json) }
    let list: JSON = [.number(digits)]
    if key == "uint8" {
      #expect(throws: DecodingError.self) { try JSONValueDecoder().decode([UInt8].self, from: list) }
    }
  }

  // MARK: What accompanies a value

  private static let unit = CodingUserInfoKey(rawValue: "unit")

  private struct Length: Codable {
    var text: String

    init(_ text: String) { self.text = text }

    init(from decoder: any Decoder) throws {
      let number = try decoder.singleValueContainer().decode(Int.self)
      text = "\(number) \(JSONLimitTests.unit.flatMap { decoder.userInfo[$0] as? String } ?? "?")"
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(
        "\(text) \(JSONLimitTests.unit.flatMap { encoder.userInfo[$0] as? String } ?? "?")")
    }
  }

  private struct Lengths: Codable { var all: [[String: Length]] }

  @Test func `what a coder is given is known at every level`() throws {
    let unit = try #require(Self.unit)
    let decoder = JSONValueDecoder(userInfo: [unit: "km"])
    let read = try decoder.decode(Lengths.self, from: ["all": [["a": 1], ["a": 2]]])
    #expect(read.all.map { $0["a"]?.text } == ["1 km", "2 km"])
    let encoder = JSONValueEncoder(userInfo: [unit: "mi"])
    #expect(try encoder.encode(Lengths(all: [["a": Length("3")]])) == ["all": [["a": "3 mi"]]])
  }

  @Test func `a key can be set on a value that is no object, and twice in one container`() throws {
    var json: JSON = .null
    json["a"] = 1
    #expect(json == ["a": 1])
    json["a"] = nil
    #expect(json == [:])
    struct Twice: Encodable {
      enum CodingKeys: CodingKey { case first, second }

      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(1, forKey: .first)
        try container.encode(2, forKey: .second)
        try container.encode(3, forKey: .first)
      }
    }
    #expect(try JSONValueEncoder().encode(Twice()).text() == #"{"first":3,"second":2}"#)
  }
}
