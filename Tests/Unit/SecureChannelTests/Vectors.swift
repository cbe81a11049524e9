import Foundation
import SecureChannel
import Sodium
import Testing
import Wire

/// One handshake of a vector file, with the field names of the published vectors.
struct HandshakeVector: Decodable, Sendable, CustomTestStringConvertible {
  struct Message: Decodable, Sendable {
    var payload: String
    var ciphertext: String
  }

  var protocol_name: String
  var init_prologue: String
  var init_static: String
  var init_ephemeral: String
  var init_psks: [String]?
  var resp_prologue: String
  var resp_static: String
  var resp_ephemeral: String
  var resp_psks: [String]?
  var handshake_hash: String?
  var messages: [Message]
  /// Of refused vectors: the reason, the message (from 0) that is refused, and the bytes that its receiver gets.
  var why: String?
  var refused: Int?
  var ciphertext: String?

  var testDescription: String { why.map { "\(protocol_name): \($0)" } ?? protocol_name }

  func initiator() throws -> Handshake {
    Handshake(
      role: .initiator, staticKey: try AgreementKey(secret: bytes(init_static)),
      ephemeral: try AgreementKey(secret: bytes(init_ephemeral)), presharedKey: try key(init_psks),
      prologue: bytes(init_prologue))
  }

  func responder() throws -> Handshake {
    Handshake(
      role: .responder, staticKey: try AgreementKey(secret: bytes(resp_static)),
      ephemeral: try AgreementKey(secret: bytes(resp_ephemeral)), presharedKey: try key(resp_psks),
      prologue: bytes(resp_prologue))
  }

  private func key(_ keys: [String]?) throws -> SymmetricKey? {
    try keys?.first.map { try SymmetricKey(bytes($0)) }
  }
}

struct RecordVectors: Decodable, Sendable {
  struct Long: Decodable, Sendable {
    var key: String
    var length: Int
    var wire_bytes: Int
    var message_sha256: String
    var wire_sha256: String
  }
  struct Short: Decodable, Sendable {
    var key: String
    var counter: String
    var message: String?
    var wire: String
  }
  struct Refused: Decodable, Sendable, CustomTestStringConvertible {
    var why: String
    var key: String
    var wire: String
    var testDescription: String { why }
  }
  var messages: [Long]
  var short: Short
  var close: Short
  var refused: [Refused]
}

struct PreambleVectors: Decodable, Sendable {
  struct Accepted: Decodable, Sendable {
    var bytes: String
    var key: String
    var nonce: String
  }
  struct Refused: Decodable, Sendable, CustomTestStringConvertible {
    var why: String
    var bytes: String
    var testDescription: String { why }
  }
  struct Other: Decodable, Sendable {
    var bytes: String
    var version: UInt8
    var key: String
    var answer: String
  }
  var session_key: String
  var pairing_key: String
  var accepted: [Accepted]
  var refused: [Refused]
  var other_version: [Other]
}

struct NoiseVectors: Decodable, Sendable {
  var vectors: [HandshakeVector]
  var refused: [HandshakeVector]
  var records: RecordVectors
  var preambles: PreambleVectors

  /// `Protocol/vectors/noise.json`.
  static let ours: NoiseVectors = {
    do {
      let path = packageRoot.appending(path: "Protocol/vectors/noise.json")
      return try JSONDecoder().decode(NoiseVectors.self, from: Data(contentsOf: path))
    } catch {
      fatalError("Protocol/vectors/noise.json can't be read: \(error)")
    }
  }()

  /// Published vectors of the two patterns; empty if that file is missing.
  static let published: [HandshakeVector] = {
    struct File: Decodable { var vectors: [HandshakeVector] }
    let path = packageRoot.appending(path: "../shared/vectors/noise.json")
    guard let data = try? Data(contentsOf: path),
      let file = try? JSONDecoder().decode(File.self, from: data)
    else { return [] }
    return file.vectors.filter {
      $0.protocol_name.hasPrefix("Noise_XX") && $0.protocol_name.hasSuffix("25519_ChaChaPoly_SHA256")
    }
  }()
}

let packageRoot = URL(filePath: #filePath).deletingLastPathComponent()
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

/// The bytes of hexadecimal text; for invalid text, bytes that make the test fail.
func bytes(_ hex: String) -> [UInt8] { bytesFromHexadecimal(hex) ?? [] }
