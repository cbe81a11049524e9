// Protocol/records.md, "Kinds of apps"

import Home
import Records
import Replication
import Sodium
import Storage
import Wire

extension NodeCore {
  /// Writes the schemas of apps that this store knows to the circle, as far as the circle lacks them, so that other
  /// devices can show the records. If that fails, it is tried again when the node serves next.
  package func shareSchemas() {
    do {
      let shared = try store.sharedApps
      let missing = try store.apps.filter { app in
        guard let known = shared.first(where: { $0.app == app.app }) else { return true }
        return known.merged(with: app) != known
      }
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
