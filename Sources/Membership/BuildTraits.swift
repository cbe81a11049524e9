package import Sodium
package import Wire

/// The one place that build traits touch.
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

  /// The key of the development issuer; nil in builds without a trait, which know no such issuer.
  package static let developmentKey: SigningKey? = {
    #if AllFeatures || MockPurchases
      // Known to everyone on purpose: only builds made for development believe it.
      return try? SigningKey(seed: Array("waymark development issuer seed".utf8) + [0])
    #else
      return nil
    #endif
  }()

  /// The issuer that builds with a trait accept besides those of the circle.
  package static var developmentIssuer: DeviceKey? { developmentKey.map { DeviceKey($0) } }
}
