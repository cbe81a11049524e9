import Engine
public import Platform
public import Home
import Membership
import Model
package import NodeRuntime
package import Reasons
import Replication
import Storage
public import Wire

/// An entitlement: an issuer's certificate that gives premium to this circle or to some of its devices.
public struct EntitlementSummary: Hashable, Sendable, Codable {
  /// The id with which ``Node/removeEntitlement(_:issuerKey:rootKey:)`` removes it: 64 hexadecimal digits.
  public let id: String
  /// The plan: `premium`.
  public let plan: String
  /// The validity of the entitlement at the present time.
  public let state: State
  /// Whether the entitlement applies to this device.
  public let here: Bool
  /// The devices that the entitlement applies to; nil for all devices of the circle.
  public let devices: [DeviceKey]?
  /// The public key of the issuer that signed it.
  public let issuer: DeviceKey
  /// When the entitlement was signed.
  public let issuedAt: Date
  /// When the entitlement becomes valid.
  public let notBefore: Date
  /// When the entitlement expires.
  public let notAfter: Date
  /// The issuer's serial number, in hexadecimal.
  public let serial: String
  /// The source of the purchase, as the issuer states it.
  public let source: String

  /// The validity of an entitlement.
  public enum State: String, Hashable, Sendable, Codable {
    /// It is valid now.
    case valid
    /// It is not valid yet.
    case notYet = "not_yet"
    /// It has expired.
    case expired
    /// The circle does not trust the issuer.
    case unknownIssuer = "unknown_issuer"
    /// It was removed, or the circle withdrew its trust in the issuer.
    case withdrawn
  }
}

extension EntitlementSummary {
  /// - Parameters:
  ///   - device: this device.
  ///   - now: the time at which the gate is evaluated.
  init(_ held: HeldEntitlement, in circle: Circle, for device: DeviceKey, at now: Moment) {
    let entitlement = held.body
    let state: State =
      if held.isWithdrawn {
        .withdrawn
      } else if !circle.isAccepted(issuer: entitlement.issuer) {
        .unknownIssuer
      } else if now < entitlement.notBefore {
        .notYet
      } else {
        now < entitlement.notAfter ? .valid : .expired
      }
    self.init(
      id: held.id.description, plan: entitlement.plan, state: state, here: entitlement.counts(for: device),
      devices: entitlement.devices, issuer: entitlement.issuer,
      issuedAt: Date(milliseconds: entitlement.issuedAt),
      notBefore: Date(milliseconds: entitlement.notBefore),
      notAfter: Date(milliseconds: entitlement.notAfter), serial: hexadecimal(entitlement.serial.bytes),
      source: entitlement.source)
  }
}

/// The premium of this device, with the entitlements and issuers of the circle.
package struct PremiumSummary: Codable, Sendable {
  package let premium: SyncState.Premium
  /// Why this device is not a member, as a human-readable clause; nil for a member.
  package let text: LocalizableText?
  package let next: Step?
  /// The purchases in the App Store, those that were confirmed last first.
  package let purchases: [PurchaseSummary]
  /// The product of the purchase that gives premium; nil if premium has another source, or if there is none.
  package let product: String?
  /// StoreKit's account token for purchases that give this circle premium.
  package let appAccountToken: UUID
  /// The entitlements of the circle, the earliest first.
  package let entitlements: [EntitlementSummary]
  /// The issuers that the circle accepts.
  package let issuers: [DeviceKey]
}

/// An issuer that the circle trusts or has trusted, and what it has issued to the circle.
package struct IssuerSummary: Codable, Sendable {
  package let issuer: DeviceKey
  /// Whether the circle has withdrawn its trust.
  package let withdrawn: Bool
  /// The number of entitlements that it has issued and that were not withdrawn.
  package let entitlements: Int
  /// When the last of them ends; nil if there are none.
  package let until: Date?
  /// The sources of the purchases, as the issuer states them; `self` for premium that the circle issued to itself.
  package let sources: [String]
}

extension IssuerSummary {
  init(_ issuer: DeviceKey, in circle: Circle) {
    let issued = circle.evaluation.entitlements.filter { $0.body.issuer == issuer && !$0.isWithdrawn }
      .map(\.body)
    self.init(
      issuer: issuer, withdrawn: circle.evaluation.isWithdrawn(issuer: issuer), entitlements: issued.count,
      until: issued.map(\.notAfter).max().map(Date.init(milliseconds:)),
      sources: Set(issued.map(\.source)).sorted())
  }
}

extension Circle {
  /// Checks that a statement is an entitlement for this circle by an accepted issuer, and returns the entitlement.
  ///
  /// - Parameter place: where the statement comes from, for error messages.
  /// - Throws: `WaymarkError` with the code `no_certificate`, `wrong_circle`, `issuer_withdrawn`,
  ///   `entitlement_withdrawn` or `unknown_issuer`.
  func entitlement(_ statement: Statement, from place: String) throws -> HeldEntitlement {
    guard case .entitlement(let entitlement) = statement.content else {
      throw WaymarkError.failed(
        .noCertificate, "\(place.capitalizedFirst) does not contain an entitlement.",
        next: .waymark("help premium"))
    }
    guard statement.circle == id else {
      throw WaymarkError.failed(
        .wrongCircle, "The entitlement in \(place) is for another circle, \(statement.circle).",
        next: .waymark("issuer issue --key FILE --circle \(id) --until TIME"))
    }
    guard !evaluation.isWithdrawn(issuer: entitlement.issuer) else {
      throw WaymarkError.withdrawn(issuer: entitlement.issuer)
    }
    guard !evaluation.isWithdrawn(statement.id, entitlement) else {
      throw WaymarkError.failed(
        .entitlementWithdrawn, "The entitlement in \(place) was removed from this circle and can't return.",
        next: "install another one that the issuer signs: \(waymark: "help premium")")
    }
    guard isAccepted(issuer: entitlement.issuer) else {
      throw WaymarkError.failed(
        .unknownIssuer, "This circle does not trust the issuer of this entitlement, \(entitlement.issuer).",
        next: .waymark("issuer trust FILE.pub"))
    }
    return HeldEntitlement(id: statement.id, body: entitlement, isWithdrawn: false)
  }
}

extension WaymarkError {
  static func withdrawn(issuer: DeviceKey) -> WaymarkError {
    .failed(
      .issuerWithdrawn, "This circle has withdrawn its trust in the issuer \(issuer), which is final.",
      next: "trust another key of the issuer: \(waymark: "issuer trust FILE.pub")")
  }
}

extension Issuer {
  /// Signs an entitlement for a circle, or for some of its devices. This is what the server behind a purchase does.
  ///
  /// - Parameters:
  ///   - keyFile: the issuer's key file, created by ``create(at:)``.
  ///   - circle: the buyer's circle: ``NodeStatus/circle``.
  ///   - devices: the devices that the entitlement applies to; empty for all devices of the circle.
  ///   - start: when the entitlement becomes valid; nil for the time of issue.
  ///   - end: when the entitlement expires, exclusive.
  ///   - issued: the time of issue. Devices that receive the entitlement don't evaluate their gate at an earlier time.
  ///   - passphrases: the source of the passphrase, if the key is sealed.
  /// - Returns: the argument for ``Node/install(entitlement:)``.
  /// - Throws: `WaymarkError` if the key can't be read or the end is not after the start.
  public static func entitlement(
    keyFile: URL, circle: CircleID, devices: [DeviceKey] = [], from start: Date? = nil, until end: Date,
    issued: Date = Date(), passphrases: PassphraseSource = .environment
  ) throws -> Data {
    let request = EntitlementRequest(
      keyFile: keyFile.path(percentEncoded: false), circle: circle.description,
      devices: devices.map(\.description), until: CivilTime.text(end.milliseconds),
      from: start.map { CivilTime.text($0.milliseconds) })
    return Data(try issue(request, now: issued.milliseconds, passphrases: passphrases).text.utf8)
  }

  /// Creates an issuer's key file, readable only by its owner, and the file of its public key, with `.pub` appended.
  ///
  /// - Returns: the public key, for circles to trust.
  /// - Throws: `WaymarkError` if either file already exists.
  @discardableResult
  public static func create(at keyFile: URL) throws -> DeviceKey {
    try create(keyFile.path(percentEncoded: false))
  }
}
