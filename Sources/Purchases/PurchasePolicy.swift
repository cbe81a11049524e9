// Protocol/purchase.md, "Which purchases count".

/// Which purchases in the App Store give premium.
public struct PurchasePolicy: Hashable, Sendable {
  /// An app and its premium products.
  public struct App: Hashable, Sendable, Decodable {
    /// The app's bundle id.
    public var bundle: String
    /// The ids of its products that give premium: subscriptions, and purchases for life.
    public var products: [String]
    /// The ids of its subscription groups of which every product gives premium.
    public var groups: [String]

    private enum CodingKeys: String, CodingKey {
      case bundle
      case products
      case groups
    }

    /// - Parameters:
    ///   - bundle: the app's bundle id.
    ///   - products: the ids of the products that give premium.
    ///   - groups: the ids of subscription groups of which every product gives premium.
    public init(bundle: String, products: [String] = [], groups: [String] = []) {
      self.bundle = bundle
      self.products = products
      self.groups = groups
    }

    /// A group is named only by subscriptions; a purchase for life has to be listed as a product.
    func lists(_ transaction: Transaction) -> Bool {
      if products.contains(where: { isSame($0, transaction.product) }) { return true }
      guard let group = transaction.group, transaction.expires != nil else { return false }
      return groups.contains { isSame($0, group) }
    }
  }

  /// The apps whose purchases count.
  public var apps: [App]
  /// Whether purchases in the App Store's sandbox count too, which cost nothing.
  public var acceptsSandbox: Bool
  /// Whether purchases count that another member of a family shares.
  public var acceptsFamilySharing: Bool
  /// The certificates that vouch for purchases, as DER.
  package var roots = [PinnedRoots.apple]

  /// - Parameters:
  ///   - apps: the apps whose purchases count.
  ///   - acceptsSandbox: whether purchases in the App Store's sandbox count too.
  ///   - acceptsFamilySharing: whether purchases count that another member of a family shares.
  public init(apps: [App], acceptsSandbox: Bool = false, acceptsFamilySharing: Bool = false) {
    self.apps = apps
    self.acceptsSandbox = acceptsSandbox
    self.acceptsFamilySharing = acceptsFamilySharing
  }

  /// Whether the app and the environment of a transaction are among those whose purchases are looked at.
  package func admits(_ transaction: Transaction) -> Bool {
    guard apps.contains(where: { isSame($0.bundle, transaction.bundle) }) else { return false }
    return switch transaction.subscription.environment {
    case "Production": true
    case "Sandbox": acceptsSandbox
    default: false
    }
  }

  /// Whether a transaction is one of a product that gives premium.
  package func lists(_ transaction: Transaction) -> Bool {
    transaction.isOfUsableType && (acceptsFamilySharing || !transaction.isShared)
      && apps.contains { isSame($0.bundle, transaction.bundle) && $0.lists(transaction) }
  }
}

extension PurchasePolicy.App {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    bundle = try container.decode(String.self, forKey: .bundle)
    products = try container.decodeIfPresent([String].self, forKey: .products) ?? []
    groups = try container.decodeIfPresent([String].self, forKey: .groups) ?? []
  }
}

extension PurchasePolicy: Decodable {
  private enum CodingKeys: String, CodingKey {
    case apps
    case acceptsSandbox = "sandbox"
    case acceptsFamilySharing = "familySharing"
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      apps: try container.decode([App].self, forKey: .apps),
      acceptsSandbox: try container.decodeIfPresent(Bool.self, forKey: .acceptsSandbox) ?? false,
      acceptsFamilySharing: try container.decodeIfPresent(Bool.self, forKey: .acceptsFamilySharing) ?? false)
  }
}
