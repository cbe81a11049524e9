import Engine
public import Platform
import Home
import Membership
import Purchases
import Records
import Replication
public import Wire

/// A purchase in the App Store, with its renewals, as this device evaluates it.
public struct PurchaseSummary: Hashable, Sendable, Codable {
  /// The id of the product.
  public let product: String
  /// The id of the subscription group that the product belongs to; nil for a purchase for life.
  public let group: String?
  /// The bundle id of the app.
  public let app: String
  /// Whether it gives premium at the present time, and if not, why.
  public let state: State
  /// When what is paid ends, or a grace period after it; nil for a purchase for life.
  public let until: Date?
  /// When the App Store signed the transaction that decides.
  public let confirmed: Date
  /// When the transaction is no longer trusted, so that a newer one is needed; nil for a purchase for life.
  public let trustedUntil: Date?
  /// The device that installed the transaction that decides.
  public let device: DeviceKey
  /// The name of that device.
  public let deviceName: String
  /// Whether the App Store's sandbox sold it, without payment.
  public let isSandbox: Bool

  private enum CodingKeys: String, CodingKey {
    case product
    case group
    case app
    case state
    case until
    case confirmed
    case trustedUntil
    case device
    case deviceName
    case isSandbox = "sandbox"
  }

  /// The state of a purchase.
  public enum State: String, Hashable, Sendable, Codable, CaseIterable {
    /// It gives premium.
    case valid
    /// It was signed at a time that has not come yet.
    case notYet = "not_yet"
    /// It has ended.
    case expired
    /// The App Store last confirmed it more than 35 days ago.
    case unconfirmed
    /// It was refunded, or taken back.
    case refunded
    /// Another product replaced it.
    case upgraded
    /// It is not one of the products that give premium.
    case notListed = "not_listed"
    /// This build can't verify it.
    case unjudged
  }
}

extension PurchaseSummary {
  /// - Parameters:
  ///   - name: the name of the device that installed it.
  ///   - now: the time at which the gate is evaluated.
  init(_ subscription: Subscription, by name: String, at now: Moment) {
    let transaction = subscription.transaction
    self.init(
      product: transaction.product, group: transaction.group, app: transaction.bundle,
      state: State(subscription.state(at: now)),
      until: subscription.end.map(Date.init(milliseconds:)),
      confirmed: Date(milliseconds: transaction.signed),
      trustedUntil: subscription.trusted.map(Date.init(milliseconds:)), device: subscription.device,
      deviceName: name, isSandbox: transaction.isSandbox)
  }
}

extension PurchaseSummary.State {
  fileprivate init(_ state: Subscription.State) {
    switch state {
    case .valid: self = .valid
    case .notYet: self = .notYet
    case .expired: self = .expired
    case .unconfirmed: self = .unconfirmed
    case .refunded: self = .refunded
    case .upgraded: self = .upgraded
    case .notListed: self = .notListed
    case .unjudged: self = .unjudged
    }
  }
}
