import Wire

/// The keys and products of the stand-in for the App Store. The keys are public on purpose: only development builds
/// accept what they sign. Protocol/vectors/generate_purchase.py made them.
package enum DevelopmentStore {
  /// The root, as DER.
  package static let root: [UInt8] = []

  package static let bundle = "dev.waymark.app"
  package static let yearly = "dev.waymark.app.yearly"
  package static let lifetime = "dev.waymark.app.lifetime"
}

extension PurchasePolicy {
  /// What development builds accept: the products of an app that does not exist, from the stand-in for the App Store.
  package static let development = PurchasePolicy(
    apps: [App(bundle: DevelopmentStore.bundle, products: [DevelopmentStore.yearly, DevelopmentStore.lifetime])]
  ).acceptingDevelopmentStore

  /// The same policy, which also accepts the stand-in for the App Store.
  package var acceptingDevelopmentStore: PurchasePolicy {
    var policy = self
    if !policy.roots.contains(DevelopmentStore.root) { policy.roots.append(DevelopmentStore.root) }
    return policy
  }
}
