package import Records
import Storage

extension Home {
  /// The kinds of records that the store knows; nil if there is no store or it can't be read. Another process may have
  /// the store open.
  package var schema: Schema? {
    hasStore ? try? Store.schema(ofStoreAt: store) : nil
  }
}
