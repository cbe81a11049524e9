import Foundation
import Sodium
import Testing
import Wire

@testable import Home
@testable import Waymark

/// The format of key files: Sources/store.md, "Key files".
struct KeyTextTests {
  private func sealed(_ purpose: KeyPurpose = .device, _ passphrase: String = "four words for Alice") throws
    -> KeyText.Sealed
  {
    try KeyText.Sealed(secret(purpose), purpose, passphrase: words(passphrase).secret, cost: cheap)
  }

  private func parse(_ text: [UInt8], _ purpose: KeyPurpose = .device) throws -> KeyText.Content {
    var text = text
    return try KeyText.parse(try SecretBuffer(taking: &text), purpose)
  }

  private func flaw(_ text: [UInt8], _ purpose: KeyPurpose = .device) -> KeyText.Flaw? {
    do {
      _ = try parse(text, purpose)
      return nil
    } catch {
      return error as? KeyText.Flaw
    }
  }

  @Test(arguments: KeyPurpose.allCases)
  func `an unsealed key can be read back`(_ purpose: KeyPurpose) throws {
    let text = copy(try KeyText.plain(try secret(purpose), purpose))
    guard case .plain(let again) = try parse(text, purpose) else {
      Issue.record("it is sealed")
      return
    }
    let isSame = again.equals(try secret(purpose))
    #expect(isSame)
  }

  @Test(arguments: KeyPurpose.allCases)
  func `a sealed key is opened by its passphrase and by no other`(_ purpose: KeyPurpose) throws {
    let text = try sealed(purpose).text
    guard case .sealed(let again) = try parse(text, purpose) else {
      Issue.record("it is not sealed")
      return
    }
    guard let opened = try again.open(words("four words for Alice").secret) else {
      Issue.record("the passphrase does not open it")
      return
    }
    let isSame = opened.equals(try secret(purpose))
    #expect(isSame)
    for other in ["four words for Alicf", "four words for Alice ", "Four words for Alice"] {
      let isOpened = try again.open(words(other).secret) != nil
      #expect(!isOpened, "\(other)")
    }
  }

  @Test func `a sealed file reveals nothing of the keys, and is different each time`() throws {
    let (first, second) = (try sealed().text, try sealed().text)
    #expect(first != second)
    let digits = hexadecimal(copy(try secret(.device)))
    for start in stride(from: 0, to: digits.count - 16, by: 2) {
      let part = String(digits.dropFirst(start).prefix(16))
      #expect(!String(decoding: first, as: UTF8.self).contains(part))
    }
  }

  @Test func `no byte of an unsealed file can be changed`() throws {
    let text = copy(try KeyText.plain(try secret(.device), .device))
    for index in text.indices {
      for change: UInt8 in [1, 0x20, 0x80] {
        var damaged = text
        damaged[index] ^= change
        #expect(flaw(damaged) == .damaged, "byte \(index) ^ \(change)")
      }
    }
    for other in [Array(text.dropLast()), text + [0x0a], [], Array(text[..<20])] {
      #expect(other.isEmpty || flaw(other) == .damaged)
    }
  }

  @Test func `no byte of a sealed file can be changed`() throws {
    let text = try sealed().text
    for index in text.indices {
      var damaged = text
      damaged[index] ^= 1
      #expect(flaw(damaged) != nil, "byte \(index)")
    }
    for count in 1..<text.count { #expect(flaw(Array(text[..<count])) == .damaged, "\(count) bytes") }
  }

  /// Recomputes the checksum of a modified file, so that it looks intact.
  private func repaired(_ lines: [String]) -> [UInt8] {
    let body = Array((lines.prefix(4).joined(separator: "\n") + "\n").utf8)
    let check = hexadecimal(Blake2b256.hashBytes(prefix: [], parts: [body]).prefix(8))
    return body + Array("check \(check)\n".utf8)
  }

  private func lines(_ sealed: KeyText.Sealed) -> [String] {
    String(decoding: sealed.text, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  @Test func `the header is authenticated by the seal`() throws {
    let sealed = try sealed()
    let good = lines(sealed)
    #expect(repaired(good) == sealed.text)
    // More memory or another salt give another key; the nonce and the title are bound by the seal alone.
    var changes: [[String]] = []
    for (line, from, to) in [
      (1, "argon2id 1 8 ", "argon2id 1 16 "), (1, "argon2id 1 8 ", "argon2id 2 8 "),
      (1, hexadecimal(sealed.salt), String(repeating: "0", count: 32)),
      (2, hexadecimal(sealed.nonce), String(repeating: "1", count: 48)),
    ] {
      var changed = good
      changed[line] = changed[line].replacing(from, with: to)
      #expect(changed != good)
      changes.append(changed)
    }
    for changed in changes {
      guard case .sealed(let other) = try parse(repaired(changed)) else {
        Issue.record("\(changed) is not sealed")
        continue
      }
      let isOpened = try other.open(words("four words for Alice").secret) != nil
      #expect(!isOpened, "\(changed)")
    }
  }

  @Test func `a seal of one kind of key is not accepted for another`() throws {
    var root = lines(try sealed(.root))
    root[0] = KeyPurpose.issuer.sealedTitle
    guard case .sealed(let other) = try parse(repaired(root), .issuer) else {
      Issue.record("it is not sealed")
      return
    }
    let isOpened = try other.open(words("four words for Alice").secret) != nil
    #expect(!isOpened)
    #expect(flaw(try sealed(.root).text, .device) == .damaged)
  }

  @Test(
    arguments: [
      ("argon2id 8 524288", nil), ("argon2id 9 8", .tooCostly), ("argon2id 1 524289", .tooCostly),
      ("argon2id 9223372036854775807 8", .tooCostly), ("argon2id 1 9223372036854775807", .tooCostly),
      ("argon2id 9223372036854775808 8", .damaged), ("argon2id 0 8", .damaged), ("argon2id -1 8", .damaged),
      ("argon2id 1 7", .damaged), ("argon2id 01 8", .damaged), ("argon2id +1 8", .damaged),
      ("argon2i 1 8", .damaged), ("argon2id 1", .damaged), ("argon2id 1 8 8", .damaged),
    ] as [(String, KeyText.Flaw?)])
  func `a file can't demand more work than the limits allow`(_ start: String, _ expected: KeyText.Flaw?)
    throws
  {
    var changed = lines(try sealed())
    changed[1] = "\(start) \(String(repeating: "0", count: 32))"
    #expect(flaw(repaired(changed)) == expected)
  }
}
