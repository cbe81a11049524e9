import Reasons
import Sodium
import Wire

/// Keeps the secret keys of a device outside of its home, such as in a keychain.
///
/// Give it to the ``Home``, which then has files with the names of the keys only:
///
/// ```swift
/// let home = Home(folder, keys: Keychain(service: "com.example.trips"))
/// ```
///
/// A key store should be for one device only, and not be part of a backup or a sync. Then a home that was copied to
/// another device, or restored there from a backup of the whole system, can't be opened: ``Node/open(_:name:issuers:purchases:schema:log:)``
/// fails with the code `key_not_here`. That device gets keys of its own with ``JoinOperation``, and keeps all records.
///
/// A node never removes a key from the store, as it never removes a key file: a copy of the home may need it.
///
/// Calls come from any thread.
public protocol KeyStore: Sendable {
  /// Keeps a secret under a new name, durably.
  ///
  /// - Parameters:
  ///   - secret: 32 or 64 bytes, valid during the call only. Wipe your own copies, and log nothing of it.
  ///   - name: 1 to 100 letters, digits and hyphens, which are no secret.
  func save(_ secret: UnsafeRawBufferPointer, as name: String) throws

  /// Passes the secret with a name to a closure, which copies it to memory that is wiped after use.
  ///
  /// - Returns: false if there is no such secret; the closure is not called then.
  func read(_ name: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool
}

/// The name of a key in a key store: its purpose and its public key.
struct KeptKey: Hashable, Sendable {
  let name: String
  private let purpose: KeyPurpose

  init(_ secrets: borrowing SecretBuffer, _ purpose: KeyPurpose) throws {
    self.purpose = purpose
    name = "\(purpose.rawValue)-\(hexadecimal(try SigningKey(seed: secrets).publicKey))"
  }

  /// Parses the content of a key file; nil if it is anything else.
  init?(parsing file: borrowing SecretBuffer, _ purpose: KeyPurpose) {
    let lines = file.withBytes { String(decoding: $0, as: UTF8.self) }.split(separator: "\n")
    guard lines.count == 2, lines[0] == purpose.keptTitle else { return nil }
    self.purpose = purpose
    name = String(lines[1])
    guard Set(name.utf8).isSubset(of: Set("abcdefghijklmnopqrstuvwxyz0123456789-".utf8)),
      file.withBytes({ $0.elementsEqual(text) })
    else { return nil }
  }

  /// The content of the key file.
  var text: [UInt8] { Array("\(purpose.keptTitle)\n\(name)\n".utf8) }

  /// Saves the secrets, unless they are there already: a join keeps the same keys in several files, one after another.
  func save(_ secrets: borrowing SecretBuffer, in keys: any KeyStore) throws {
    do {
      guard try !keys.read(name, { _ in }) else { return }
      try secrets.withBytes { (bytes) throws in try keys.save(bytes, as: name) }
    } catch {
      throw WaymarkError.home(
        .unwritable, "The \(purpose.rawValue) key can't be saved in the app's key store: \(error).",
        next: "see the error of the key store, then try again")
    }
  }

  /// - Parameter path: the key file, for errors.
  func secrets(in keys: (any KeyStore)?, at path: String) throws -> SecretBuffer {
    guard let keys else {
      throw WaymarkError.home(
        .keyNotHere, "The app that owns \(path) keeps the \(purpose.rawValue) key in a key store of its own.",
        next: "use this home in that app")
    }
    var secrets = try SecretBuffer(capacity: purpose.secretBytes)
    let isThere: Bool
    do {
      isThere = try keys.read(name) { bytes in
        guard bytes.count == purpose.secretBytes else { throw KeyText.Flaw.damaged }
        secrets.append(contentsOf: bytes)
      }
    } catch KeyText.Flaw.damaged {
      throw WaymarkError.home(
        .keyDamaged, "The \(purpose.rawValue) key in the app's key store is damaged.",
        next: "join the circle again")
    } catch {
      throw WaymarkError.home(
        .keyStoreFailed, "The \(purpose.rawValue) key can't be read from the app's key store: \(error).",
        next: "see the error of the key store, then try again")
    }
    guard isThere else {
      throw WaymarkError.home(
        .keyNotHere,
        "The \(purpose.rawValue) key of \(path) is not in the key store of this machine. The home was probably restored "
          + "from another one's backup; its records are complete.",
        next:
          "\(waymark: "invite", on: "a device of the circle"); then join here, which gives this device new keys"
      )
    }
    guard secrets.count == purpose.secretBytes, try KeptKey(secrets, purpose) == self else {
      throw WaymarkError.home(
        .keyDamaged, "The app's key store has another key under the name \(name).",
        next: "join the circle again")
    }
    return secrets
  }
}

extension WaymarkError {
  /// Whether the key of a home may exist although it can't be read: its key store failed, or the home was given none.
  package func isKeyElsewhere(than home: Home) -> Bool {
    reason == .keyStoreFailed || reason == .keyNotHere && home.keyStore == nil
  }
}
