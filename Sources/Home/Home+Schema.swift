package import Records
import Storage

extension Home {
  /// The schemas of apps that the store keeps; none if there is no store or it can't be read. Another process may have the
  /// store open.
  package var apps: [KnownApp] {
    guard hasStore, let apps = try? Store.apps(ofStoreAt: store) else { return [] }
    return apps
  }
}
