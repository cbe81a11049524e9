import Replication
import Testing
import Vectors
import Wire

/// Protocol/vectors/messages.json: the form of each message.
@Suite struct MessageVectorTests {
  private struct Document: Decodable {
    struct Row: Decodable {
      let flag, name, bytes: String
    }

    let messages: [Row]
  }

  @Test func `messages are accepted, ignored or refused as the vectors say`() throws {
    let rows = try vectors("messages.json", as: Document.self).messages
    #expect(Set(rows.map(\.flag)).isSuperset(of: ["none", "unknown", "ignored", "form"]))
    for row in rows {
      let bytes = try expand(row.bytes)
      let message = try? Message(decoding: bytes)
      switch row.flag {
      case "none": #expect(message?.isKnown == true && message?.encoded == bytes, "\(row.name)")
      case "unknown": #expect(message?.isKnown == true, "\(row.name)")
      case "ignored": #expect(message?.isKnown == false, "\(row.name)")
      default: #expect(message == nil, "\(row.flag): \(row.name)")
      }
    }
  }
}

extension Message {
  fileprivate var isKnown: Bool { if case .unknown = self { false } else { true } }
}
