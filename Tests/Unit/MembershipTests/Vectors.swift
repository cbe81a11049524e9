import Foundation
import Membership
import Testing
import Wire

/// Protocol/vectors/circle.json.
struct Vectors: Decodable, Sendable {
  struct StatementRow: Decodable, Sendable, CustomTestStringConvertible {
    var name, bytes: String
    var accepted: Bool
    var kind: UInt8?
    var id, circle, signer, reason: String?
    var testDescription: String { name }
  }

  struct CircleRow: Decodable, Sendable, CustomTestStringConvertible {
    struct MemberRow: Decodable, Hashable, Sendable {
      var name, role: String
      var links: Int
      var transport: String
    }
    struct LogRow: Decodable, Hashable, Sendable {
      var device, incarnation: String
      var lane: UInt8
      var admission: String
      var cuts: [[String]]
      /// A decimal number; nil if no branch proof ends the log.
      var line: String?
    }
    var name: String
    var statements: [String]
    var setHash: String
    var members: [String: MemberRow]
    var revoked: [String]
    var logs: [LogRow]
    var testDescription: String { name }
  }

  struct QuotaRow: Decodable, Sendable, CustomTestStringConvertible {
    struct Quotas: Decodable, Hashable, Sendable {
      var settings, records: UInt64
    }
    var name: String
    var statements: [String]
    var quotas: [String: Quotas]
    var testDescription: String { name }
  }

  struct ShareRow: Decodable, Sendable {
    var quota, share: UInt64
    var number: Int
  }

  struct GateRow: Decodable, Sendable, CustomTestStringConvertible {
    var name: String
    var statements: [String]
    var device: String
    var time: Int64
    var source: String
    var validUntil: Int64?
    var reason: String?
    var nextChange, gateTime: Int64?
    var testDescription: String { name }
  }

  struct TicketRow: Decodable, Sendable, CustomTestStringConvertible {
    var name, line: String
    var accepted: Bool
    var reason: String?
    var circle, transport, secret, id, psk, pairingKey, sessionKey: String?
    var expiry: Int64?
    var addresses: [String]?
    var testDescription: String { name }
  }

  struct MessageRow: Decodable, Sendable, CustomTestStringConvertible {
    var name, message, bytes: String
    var accepted: Bool
    var proven: Bool?
    var handshakeHash, transport, member, error: String?
    var statements: Int?
    var refusal: UInt8?
    var testDescription: String { name }
  }

  var genesis: String
  var statements: [StatementRow]
  var circles: [CircleRow]
  var quotas: [QuotaRow]
  var shares: [ShareRow]
  var gates: [GateRow]
  var tickets: [TicketRow]
  var messages: [MessageRow]

  static let all: Vectors = {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let file = folder.appending(path: "../../Protocol/vectors/circle.json")
    do {
      return try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: file))
    } catch {
      fatalError("Protocol/vectors/circle.json can't be read: \(error)")
    }
  }()
}

/// The bytes of a vector's hexadecimal text.
func unhex(_ text: String?) -> [UInt8] {
  guard let text, let bytes = bytesFromHexadecimal(text) else { return [] }
  return bytes
}
