package import Sodium
package import Wire

/// The build traits, all of which are evaluated here.
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

  /// The key of the development issuer; nil in builds without a trait, which have no such issuer.
  package static let developmentKey: SigningKey? = {
    #if AllFeatures || MockPurchases
      // Public on purpose: only development builds accept it.
      return try? SigningKey(seed: Array("waymark development issuer seed".utf8) + [0])
    #else
      return nil
    #endif
  }()

  /// The issuer that builds with a trait accept in addition to those of the circle.
  package static var developmentIssuer: DeviceKey? { developmentKey.map { DeviceKey($0) } }
}
