public import Foundation
import JSONDocument
import Membership
import Replication
public import Wire

/// A certificate by which an issuer has said that devices of this circle are premium.
public struct EntitlementSummary: Hashable, Sendable, Decodable {
  /// `premium`
  public let plan: String
  /// Whether it counts now.
  public let state: State
  /// Whether it counts for this device.
  public let here: Bool
  /// The devices it is for; nil for all of the circle.
  public let devices: [DeviceKey]?
  /// The public key of who signed it.
  public let issuer: DeviceKey
  /// When it was signed.
  public let issuedAt: Date
  /// From when it counts.
  public let notBefore: Date
  /// Until when it counts.
  public let notAfter: Date
  /// The issuer's number of it, in hexadecimal.
  public let serial: String
  /// Where it was bought, in the issuer's words.
  public let source: String

  /// Whether an entitlement counts.
  public enum State: String, Hashable, Sendable, Decodable {
    /// It counts now.
    case valid
    /// Its time has not come.
    case notYet = "not_yet"
    /// Its time is over.
    case expired
    /// The circle does not trust who has signed it.
    case unknownIssuer = "unknown_issuer"
  }
}

extension Node {
  /// The entitlements that this circle holds, the earliest first.
  public func entitlements() async throws -> [EntitlementSummary] {
    struct Answer: Decodable { let entitlements: [EntitlementSummary] }
    let answer: Answer = try await typed("entitlement.show")
    return answer.entitlements
  }

  /// Takes in an entitlement, as a purchase or an issuer gave it; it spreads to the other devices by itself.
  ///
  /// - Parameter bytes: the content of the file that `waymark issuer issue` or
  ///   ``Issuer/entitlement(keyFile:circle:devices:from:until:issued:passphrases:)`` makes.
  /// - Returns: what became of the gate.
  /// - Throws: `WaymarkError` with the code `no_certificate`, `wrong_circle` or `unknown_issuer`.
  @discardableResult
  public func install(entitlement bytes: Data) throws -> SyncState {
    try sayingWhy {
      try takeIn(try Issuer.certificate(in: [UInt8](bytes), of: "what was given"), "what was given")
    }
    return try syncState()
  }

  /// Takes in the entitlement in a file.
  @discardableResult
  public func installEntitlement(at file: URL) throws -> SyncState {
    let path = file.path(percentEncoded: false)
    try sayingWhy { try takeIn(try Issuer.readCertificate(path), path) }
    return try syncState()
  }

  /// Lets the circle trust an issuer of entitlements.
  ///
  /// - Parameters:
  ///   - publicKey: the issuer's `.pub` file.
  ///   - rootKey: the circle's root key; nil for the one of this device.
  public func trustIssuer(at publicKey: URL, rootKey: URL? = nil) async throws {
    let _: Ignored = try await typed(
      "issuer.trust", ["file": .file(publicKey), "key": .file(rootKey)])
  }

  // MARK: Mock purchases

  /// Premium without money, in a build with the trait `MockPurchases`; replaces an earlier mock purchase.
  ///
  /// Unlike a certificate, it is for this device alone.
  ///
  /// - Parameter end: nil for no end.
  /// - Throws: `WaymarkError` with the code `usage` in other builds.
  @discardableResult
  public func buyMockPremium(until end: Date? = nil) async throws -> SyncState {
    let until = end.map { CivilTime.text($0.milliseconds) }
    let _: Ignored = try await typed("entitlement.buy", ["mock": true, "until": .text(until)])
    return try syncState()
  }

  /// Ends a mock purchase, as an expired subscription would: records stay where they are.
  @discardableResult
  public func cancelMockPremium() async throws -> SyncState {
    let _: Ignored = try await typed("entitlement.cancel", ["mock": true])
    return try syncState()
  }
}

extension Issuer {
  /// Signs an entitlement for a circle, or for some of its devices: what the server behind a purchase does.
  ///
  /// - Parameters:
  ///   - keyFile: the issuer's key, as ``create(at:)`` made it.
  ///   - circle: the circle of who has bought: ``NodeStatus/circle``.
  ///   - devices: empty for all devices of the circle.
  ///   - start: nil for the time of issue.
  ///   - end: the first moment at which it counts no more.
  ///   - issued: the time of issue; no device's gate goes by an earlier time from then on.
  ///   - passphrases: asked if the key is sealed.
  /// - Returns: what ``Node/install(entitlement:)`` takes.
  /// - Throws: `WaymarkError` if the key can't be read, or the end is not after the beginning.
  public static func entitlement(
    keyFile: URL, circle: CircleID, devices: [DeviceKey] = [], from start: Date? = nil, until end: Date,
    issued: Date = Date(), passphrases: PassphraseSource = .environment
  ) throws -> Data {
    let order = Order(
      keyFile: keyFile.path(percentEncoded: false), circle: circle.description,
      devices: devices.map(\.description), until: CivilTime.text(end.milliseconds),
      from: start.map { CivilTime.text($0.milliseconds) })
    return Data(try issue(order, now: issued.milliseconds, passphrases: passphrases).utf8)
  }

  /// Makes an issuer's key: the file, readable by its owner only, and its public half beside it, with `.pub`.
  ///
  /// - Returns: the public key, for the circle that is to trust it.
  /// - Throws: `WaymarkError` if either file is there already.
  @discardableResult
  public static func create(at keyFile: URL) throws -> DeviceKey {
    try create(keyFile.path(percentEncoded: false))
  }
}
