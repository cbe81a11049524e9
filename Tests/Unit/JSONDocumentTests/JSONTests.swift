import JSONDocument
import Testing
import Wire

struct JSONTests {
  @Test(arguments: [
    (#"{"a":[1,-2.50,1e9,true,false,null,""]}"#, #"{"a":[1,-2.50,1e9,true,false,null,""]}"#),
    (#" { "b" : 1 , "a" : { } } "#, #"{"b":1,"a":{}}"#),
    (#""\u00e9\ud83d\udc0c\/\n""#, #""é🐌/\n""#),
    (#""\u0000\u001f\"\\""#, #""\u0000\u001f\"\\""#),
    ("410.56000", "410.56000"),
    ("123456789012345678901234567890.5", "123456789012345678901234567890.5"),
    ("\u{feff}[]", "[]"),
  ])
  func `a document is written back with the same digits and order`(text: String, expected: String) throws {
    #expect(try JSON.parse(text).text() == expected)
  }

  @Test func `JSON for people escapes control and invisible characters, and keeps the value`() throws {
    let hidden: [UInt32] =
      [0x061C, 0x200E, 0x200F, 0xFEFF] + Array(0x7F...0x9F) + Array(0x2028...0x202E) + Array(0x2066...0x2069)
    let shown = "Zoë 🏃‍♀️ \u{200D}\u{A0}\u{AD}\u{2026}؛﷼ﻼ\n\t\"\\"
    for value in hidden {
      let scalar = try #require(Unicode.Scalar(value))
      let json: JSON = ["na\(Character(scalar))me": .string("a\(Character(scalar))" + shown)]
      for layout in [JSON.Layout.pretty, .line, .init(isPretty: true, sortsKeys: true)] {
        let text = json.text(layout)
        #expect(!text.unicodeScalars.contains(scalar), "\(value)")
        #expect(try JSON.parse(text) == json, "\(value)")
      }
      // The stored form is unchanged.
      #expect(json.text().unicodeScalars.contains(scalar))
    }
    #expect(JSON.string("\u{9B}31m\u{202E}").text(.line) == #""\u009b31m\u202e""#)
    #expect(JSON.string(shown).text(.line) == JSON.string(shown).text())
  }

  @Test func `keys can be sorted and lines can be broken`() throws {
    let json = try JSON.parse(#"{"b":[1,{"c":2}],"a":{},"d":[]}"#)
    #expect(
      json.text(.init(isPretty: true, sortsKeys: true)) == """
        {
          "a": {},
          "b": [
            1,
            {
              "c": 2
            }
          ],
          "d": []
        }
        """)
    #expect(try JSON.parse(json.text(.pretty)) == json)
  }

  @Test(arguments: [
    ("", 1, 1), ("[1,", 1, 4), ("[1\n,2,]", 2, 4), ("{\"a\" 1}", 1, 6), ("{a:1}", 1, 2), ("[01]", 1, 3),
    ("[1.]", 1, 4), ("[-]", 1, 3), ("[1e]", 1, 4), ("[+1]", 1, 2), ("nul", 1, 4), ("[1] 2", 1, 5),
    ("\"a", 1, 3), ("\"é\u{1}\"", 1, 3), ("\"\\x\"", 1, 2), ("\"\\ud800\"", 1, 2),
    ("\"\\ud800\\u0041\"", 1, 2),
    ("\"\\u12g4\"", 1, 6), ("{\"a\":1,\"a\":2}", 1, 2), ("NaN", 1, 1), ("{,}", 1, 2), ("\u{b}1", 1, 1),
  ])
  func `text that breaks the grammar is refused with line and column`(text: String, line: Int, column: Int) {
    do {
      let value = try JSON.parse(text)
      Issue.record("\(text) was read as \(value)")
    } catch {
      #expect(error.line == line, "\(text): \(error)")
      #expect(error.column == column, "\(text): \(error)")
    }
  }

  @Test func `text that is not UTF-8 is refused`() {
    for bytes: [UInt8] in [[0x22, 0xff, 0x22], [0x22, 0xc0, 0x80, 0x22], [0x22, 0x5c, 0x6e, 0xe2, 0x22]] {
      #expect(throws: JSONError.self) { try JSON.parse(bytes) }
    }
  }

  @Test func `nesting depth is limited`() throws {
    let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
    _ = try JSON.parse(deep)
    #expect(throws: JSONError.self) { try JSON.parse("[" + deep + "]") }
    #expect(throws: JSONError.self) { try JSON.parse(String(repeating: "[", count: 1_000_000)) }
  }

  @Test func `members are found, set and removed`() {
    var json: JSON = ["name": "Rome", "days": 3, "ratio": 0.5]
    #expect(json["name"]?.string == "Rome")
    #expect(json["days"]?.integer == 3)
    #expect(json["ratio"]?.float == 0.5)
    #expect(json["none"] == nil)
    json["days"] = 4
    json["name"] = nil
    json["new"] = [true, nil]
    #expect(json.text() == #"{"days":4,"ratio":0.5,"new":[true,null]}"#)
    #expect(json["new"]?[0]?.boolean == true)
    #expect(json["new"]?[2] == nil)
  }

  @Test func `keys are compared as bytes`() {
    let json: JSON = .object([.init("e\u{301}", 1), .init("\u{e9}", 2)])
    #expect(json["\u{e9}"] == 2)
    #expect(json["e\u{301}"] == 1)
  }

  @Test(arguments: [(1.0, "1"), (0.1, "0.1"), (-2.5, "-2.5"), (1e300, "1e+300"), (.infinity, "null")])
  func `a double is written with its shortest digits`(value: Double, text: String) {
    #expect(JSON.float(value).text() == text)
  }
}
