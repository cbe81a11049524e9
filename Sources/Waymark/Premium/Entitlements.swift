import Engine
public import Foundation
import Membership
import Replication
import Storage
public import Wire

/// A certificate by which an issuer has said that devices of this circle are premium.
public struct EntitlementSummary: Hashable, Sendable, Codable {
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
  public enum State: String, Hashable, Sendable, Codable {
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

extension EntitlementSummary {
  /// - Parameters:
  ///   - device: this device.
  ///   - now: the time that the gate goes by.
  init(_ entitlement: Entitlement, in circle: Circle, for device: DeviceKey, at now: Moment) {
    let state: State =
      if !circle.isAccepted(issuer: entitlement.issuer) {
        .unknownIssuer
      } else if now < entitlement.notBefore {
        .notYet
      } else {
        now < entitlement.notAfter ? .valid : .expired
      }
    self.init(
      plan: entitlement.plan, state: state, here: entitlement.counts(for: device),
      devices: entitlement.devices, issuer: entitlement.issuer,
      issuedAt: Date(milliseconds: entitlement.issuedAt),
      notBefore: Date(milliseconds: entitlement.notBefore),
      notAfter: Date(milliseconds: entitlement.notAfter), serial: hexadecimal(entitlement.serial.bytes),
      source: entitlement.source)
  }
}

/// Whether this device has premium, and all that gives it.
package struct PremiumSummary: Codable, Sendable {
  package let premium: SyncState.Premium
  /// Why the device is out of the circle; nil for a member.
  package let text: String?
  package let next: Step?
  /// The earliest first.
  package let entitlements: [EntitlementSummary]
  /// Whose entitlements the circle accepts.
  package let issuers: [DeviceKey]
}

extension Circle {
  /// The entitlement that a statement has to be.
  ///
  /// - Parameter place: where the statement is from.
  /// - Throws: `WaymarkError` with the code `no_certificate`, `wrong_circle` or `unknown_issuer`.
  func entitlement(_ statement: Statement, from place: String) throws -> Entitlement {
    guard case .entitlement(let entitlement) = statement.content else {
      throw WaymarkError.failed(
        .noCertificate, "\(place.capitalizedFirst) does not hold an entitlement.",
        next: .waymark("help premium"))
    }
    guard statement.circle == id else {
      throw WaymarkError.failed(
        .wrongCircle, "The entitlement in \(place) is for another circle, \(statement.circle).",
        next: .waymark("issuer issue --key FILE --circle \(id) --until TIME"))
    }
    guard isAccepted(issuer: entitlement.issuer) else {
      throw WaymarkError.failed(
        .unknownIssuer, "This circle does not trust the issuer of this entitlement, \(entitlement.issuer).",
        next: .waymark("issuer trust FILE.pub"))
    }
    return entitlement
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
    let request = EntitlementRequest(
      keyFile: keyFile.path(percentEncoded: false), circle: circle.description,
      devices: devices.map(\.description), until: CivilTime.text(end.milliseconds),
      from: start.map { CivilTime.text($0.milliseconds) })
    return Data(try issue(request, now: issued.milliseconds, passphrases: passphrases).utf8)
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
