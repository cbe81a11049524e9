// Protocol/records.md, "Kinds of apps"

import Records
import Replication
import Storage
import Wire

extension NodeCore {
  /// Writes the schemas of apps that this store knows to the circle, as far as the circle lacks them, so that other
  /// devices can show the records. If that fails, it is tried again when the node serves next.
  package func shareSchemas() {
    do {
      let drafts = try store.apps.flatMap(sharing)
      if !drafts.isEmpty { try write("schema", drafts) }
    } catch {
      logger.warning("schema", "can't share the kinds of apps with the other devices: \(error)")
    }
  }

  private func sharing(_ app: AppSchema) throws -> [EntryDraft] {
    let held = try store.record(app.key)
    let shared = held.flatMap { held in
      held[Self.kinds].flatMap { AppSchema(app: app.app, kinds: $0) }
    }
    let merged = shared?.merged(with: app) ?? app
    guard held?.isAlive != true || merged != shared else { return [] }
    return EntryDraft.putting(
      app.key, [(Self.app, .text(app.app)), (Self.kinds, merged.kindsValue)], on: held)
  }

  private static let app = Kind.schema.number("app")
  private static let kinds = Kind.schema.number("kinds")
}
