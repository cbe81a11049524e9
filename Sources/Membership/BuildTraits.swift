package import Purchases
package import Sodium
package import Wire

/// The traits with which this program was built. All of them are evaluated here.
package enum BuildTraits {
  #if AllFeatures
    package static let allFeatures = true
  #else
    package static let allFeatures = false
  #endif

  #if MockPurchases
    package static let mockPurchases = true
  #else
    package static let mockPurchases = false
  #endif

  /// The signing key of the development issuer; nil in builds without a trait, which do not accept such an issuer.
  package static let developmentKey: SigningKey? = {
    #if AllFeatures || MockPurchases
      // This key is public on purpose, because only development builds accept it.
      return try? SigningKey(seed: Array("waymark development issuer seed".utf8) + [0])
    #else
      return nil
    #endif
  }()

  /// Returns which purchases give premium: those that a node is told, else none. Development builds also accept the
  /// stand-in for the App Store, and have products of their own.
  package static func purchases(_ told: PurchasePolicy? = nil) -> PurchasePolicy {
    guard mockPurchases else { return told ?? PurchasePolicy(apps: []) }
    return told?.acceptingDevelopmentStore ?? .development
  }

  /// The issuer that builds with a trait accept in addition to the issuers of the circle; nil in other builds.
  package static var developmentIssuer: DeviceKey? { developmentKey.map { DeviceKey($0) } }
}
