import JSONDocument
import Testing

struct JSONCodingTests {
  private struct Trip: Codable, Equatable {
    var zeal: Int
    var name: String?
    var cost: Double
    var days: [Day]
    var isOver: Bool
    var nights: UInt64

    struct Day: Codable, Equatable {
      var second: String
      var first: String?
    }
  }

  private let trip = Trip(
    zeal: -3, name: nil, cost: 0.1, days: [.init(second: "b", first: "a"), .init(second: "d", first: nil)],
    isOver: true, nights: .max)

  @Test func `keys keep the order of the properties, and nil is left out`() throws {
    #expect(
      try JSONValueEncoder().encode(trip).text()
        == #"{"zeal":-3,"name":null,"cost":0.1,"days":[{"second":"b","first":"a"},{"second":"d","first":null}],"#
        + #""isOver":true,"nights":18446744073709551615}"#)
  }

  @Test func `an encoded value decodes as the same value`() throws {
    let json = try JSON.parse(try JSONValueEncoder().encode(trip).bytes())
    #expect(try JSONValueDecoder().decode(Trip.self, from: json) == trip)
  }

  @Test(arguments: [
    (#"{"zeal":1.5,"cost":0,"days":[],"isOver":true,"nights":0}"#, "zeal"),
    (#"{"zeal":9223372036854775808,"cost":0,"days":[],"isOver":true,"nights":0}"#, "zeal"),
    (#"{"zeal":1,"cost":"0","days":[],"isOver":true,"nights":0}"#, "cost"),
    (#"{"zeal":1,"cost":0,"days":[{"first":"a"}],"isOver":true,"nights":0}"#, "days.0"),
    (#"{"zeal":1,"cost":0,"days":null,"isOver":true,"nights":0}"#, "days"),
    (#"{"zeal":1,"cost":0,"days":[],"isOver":1,"nights":0}"#, "isOver"),
    (#"{"zeal":1,"cost":0,"days":[],"isOver":true,"nights":-1}"#, "nights"),
    ("[]", ""),
  ])
  func `a document of another shape is refused at the first difference`(_ text: String, _ path: String) throws
  {
    let json = try JSON.parse(text)
    let error = try #require(throws: DecodingError.self) {
      try JSONValueDecoder().decode(Trip.self, from: json)
    }
    #expect(Self.path(error) == path)
  }

  private static func path(_ error: DecodingError) -> String {
    switch error {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
      .dataCorrupted(let context):
      context.codingPath.map(\.stringValue).joined(separator: ".")
    @unknown default: "?"
    }
  }

  private struct Holder: Codable, Equatable { var document: JSON }

  @Test func `a document inside a value keeps its digits and its key order`() throws {
    let holder = Holder(document: ["b": .number("1.50"), "a": [.null, true, "x"]])
    let json = try JSONValueEncoder().encode(holder)
    #expect(json.text() == #"{"document":{"b":1.50,"a":[null,true,"x"]}}"#)
    #expect(try JSONValueDecoder().decode(Holder.self, from: json) == holder)
  }

  private struct Marked: Codable, Equatable { var number: Int }
  private struct Pair: Codable, Equatable {
    var left: Marked
    var right: [Marked]
  }

  @Test func `a type with a custom encoding uses it everywhere`() throws {
    let pair = Pair(left: Marked(number: 1), right: [Marked(number: 2)])
    let json = try JSONValueEncoder { ($0 as? Marked).map { .string("m\($0.number)") } }.encode(pair)
    #expect(json.text() == #"{"left":"m1","right":["m2"]}"#)
    let decoder = JSONValueDecoder { type, json in
      type == Marked.self ? json.string.flatMap { Int($0.dropFirst()) }.map(Marked.init) : nil
    }
    #expect(try decoder.decode(Pair.self, from: json) == pair)
  }

  /// A value that encodes another one inline, and a member next to it.
  private struct Outer: Encodable {
    let inner: Trip.Day

    enum CodingKeys: CodingKey { case extra }

    func encode(to encoder: any Encoder) throws {
      try inner.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(7, forKey: .extra)
    }
  }

  @Test func `members of two containers of one value form one object`() throws {
    let outer = Outer(inner: .init(second: "b", first: nil))
    #expect(try JSONValueEncoder().encode(outer).text() == #"{"second":"b","first":null,"extra":7}"#)
  }
}
