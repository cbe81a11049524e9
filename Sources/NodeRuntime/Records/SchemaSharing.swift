// Protocol/records.md, "Kinds of apps"

import Home
import Records
import Replication
import Sodium
import Storage
import Wire

extension NodeCore {
  /// Shares the schemas of apps that the circle does not have yet, so that other devices can show the records. A failed
  /// write is retried when the node serves next.
  package func shareSchemas() {
    do {
      let missing = try store.apps.map(\.schema).filter { try !store.isShared($0) }
      let drafts = missing.map { app in
        let id = RecordID(milliseconds: wall(), random: random16())
        return EntryDraft(
          .insert, RecordKey(kind: Kind.schema.number, id: id),
          [(Self.app, .text(app.app)), (Self.kinds, app.kindsValue)])
      }
      if !drafts.isEmpty { try write("schema", drafts) }
    } catch {
      logger.warning("schema", "can't share the kinds of apps with the other devices: \(error)")
    }
  }

  private static let app = Kind.schema.number("app")
  private static let kinds = Kind.schema.number("kinds")
}
