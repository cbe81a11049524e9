import Foundation
import JSONDocument
import Records
import Replication
import Storage
import Wire

/// `KIND list --deleted` and `KIND restore`: what was deleted is kept, and can be brought back.
extension Node {
  func listDeleted(_ kind: Kind, _ request: CommandRequest) throws -> JSON {
    var writer = RecordDocument(store: store)
    var items: [(time: Moment, json: JSON)] = []
    try forEachDeleted(kind) { record, deletion in
      let time = deletion.author.origin.stamp.clock.milliseconds
      let isOwn = deletion.record == record.key
      let members: [JSON.Member] = [
        .init("deleted", .bool(isOwn)), .init("deletedAt", timeJSON(time)),
        .init("deletedBy", .string(deletion.author.log.device.description)),
        .init("deletedByName", .string(name(of: deletion.author.log.device))),
        .init("hiddenBy", isOwn ? .null : try historyReader.reference(deletion.record).json),
      ]
      items.append((time, .object(try writer.members(kind, record) + members)))
    }
    items.sort { $0.time > $1.time }
    return document(request.command, [.init(kind.plural, .array(items.map(\.json)))])
  }

  /// The records of a kind that are deleted, or hidden with what they belong to, by id.
  func forEachDeleted(_ kind: Kind, _ body: (RecordRow, Deletion) throws -> Void) throws {
    var parents: [RecordKey: Deletion?] = [:]
    try trash.forEach(kind) { record in
      if let deletion = try deletion(hiding: record, &parents) { try body(record, deletion) }
    }
  }

  /// Many records of the trash belong to the same few others.
  private func deletion(hiding record: RecordRow, _ parents: inout [RecordKey: Deletion?]) throws -> Deletion?
  {
    guard record.life != false, let parent = store.parent(of: record) else {
      return try store.deletion(hiding: record)
    }
    if let known = parents[parent] { return known }
    let found = try store.deletion(hiding: record)
    parents[parent] = .some(found)
    return found
  }

  func restoreRecord(_ kind: Kind, _ request: CommandRequest) throws -> JSON {
    let text = try request.required("id", "an id or a name")
    let record = try deleted(kind, text)
    guard !record.isAlive else { throw try hidden(kind, record) }
    _ = try write(request.command, [EntryDraft(.restore, record.key)])
    let restored = try store.record(record.key) ?? record
    let above = restored.isVisible ? nil : try store.deletion(hiding: restored)?.record
    return document(
      request.command,
      [
        .init("id", .string(record.key.id.uuid)), .init("name", .text(kind.title(of: record))),
        .init("visible", .bool(restored.isVisible)),
        .init("hiddenBy", try above.map { try historyReader.reference($0).json } ?? .null),
      ])
  }

  private var trash: NameResolver {
    var resolver = names
    resolver.scope = .gone
    return resolver
  }

  /// What a name means among what is not visible; if there is nothing, a word on what is.
  private func deleted(_ kind: Kind, _ text: String) throws -> RecordRow {
    if try trash.find(kind, text).isEmpty, let visible = try names.find(kind, text).first {
      throw WaymarkError.failed(
        "not_deleted", "The \(kind.name) “\(kind.title(of: visible) ?? visible.key.id.uuid)” is not deleted.",
        next: "waymark \(kind.name) list --deleted")
    }
    return try trash.resolve(kind, text)
  }

  /// A record that lives comes back with what it belongs to.
  private func hidden(_ kind: Kind, _ record: RecordRow) throws -> WaymarkError {
    let title = kind.title(of: record) ?? record.key.id.uuid
    guard let above = try store.deletion(hiding: record)?.record, let aboveKind = Registry.kind(above.kind)
    else {
      return .failed(
        "hidden", "The \(kind.name) “\(title)” is not deleted; it belongs to a record that is not here.",
        next: "waymark history \(shellWord(title))")
    }
    let name = try historyReader.title(above) ?? above.id.uuid
    return .failed(
      "hidden",
      "The \(kind.name) “\(title)” is not deleted itself; it is hidden with \(aboveKind.name) “\(name)”.",
      next: "waymark \(aboveKind.name) restore \(shellWord(name))")
  }
}

/// The record that was deleted, and the set that did it.
struct Deletion {
  let record: RecordKey
  let author: SetPlace
}

extension Store {
  /// The deletion that keeps a record from being seen: its own, or that of what it belongs to; nil if there is none.
  func deletion(hiding record: RecordRow) throws -> Deletion? {
    var next: RecordRow? = record
    // Parents of parents: an attachment belongs to an item, and that to a trip.
    for _ in 0..<4 {
      guard let record = next else { return nil }
      if record.life == false {
        return try lifeAuthor(of: record).map { Deletion(record: record.key, author: $0) }
      }
      next = try parent(of: record).flatMap { try self.record($0) }
    }
    return nil
  }
}

extension RecordReference {
  fileprivate var json: JSON {
    [
      "kind": .string(kind.rawValue), "id": .string(id.uuidString), "name": .text(name),
    ]
  }
}
