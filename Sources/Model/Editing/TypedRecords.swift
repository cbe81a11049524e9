package import Home
import JSONDocument
package import Records
package import Replication
package import Storage
package import Wire

/// Reads and changes records with arguments as typed on the command line: names instead of ids, and text instead of
/// values.
///
/// The changes that its methods return have been checked but not yet written; see ``Node/write(_:)``.
package struct TypedRecords {
  let store: Store
  let home: Home
  let now: Moment
  /// The name of the user's time zone; that of this process if none was given.
  let zone: String
  let deviceName: (DeviceKey) -> String

  package init(
    store: Store, home: Home, now: Moment, zone: String?, deviceName: @escaping (DeviceKey) -> String
  ) {
    (self.store, self.home, self.now, self.deviceName) = (store, home, now, deviceName)
    self.zone = zone ?? CivilTime.ownZoneName
  }

  /// `name=value` pairs, in the order in which the user typed them.
  package typealias Pairs = [(name: String, value: String)]

  private var names: NameResolver { NameResolver(store: store) }
  private var contents: StoredContents { StoredContents(store: store) }

  // MARK: Reading

  /// Returns the visible records of a kind in list order.
  ///
  /// - Parameter filter: returns the typed value of the filter with a given name; nil if the user did not type it.
  ///   See `RecordList`.
  package func list(_ kind: Kind, _ filter: (String) -> String?) throws -> [ShownRecord] {
    let summaries = kind == Registry.trip ? try store.tripSummaries() : [:]
    var writer = RecordDocument(store: store)
    return try RecordList(store: store, names: names).records(kind, filter).map { record in
      var members = try writer.members(kind, record)
      if kind == Registry.trip { members += (summaries[record.key.id] ?? TripSummary()).members }
      return ShownRecord(members)
    }
  }

  /// Returns one record. If an output path is given, also writes an attachment's content to that file and adds the
  /// path to the result.
  package func show(_ kind: Kind, _ name: String, output: String?, overwrites: Bool) throws -> ShownRecord {
    let record = try names.resolve(kind, name)
    var writer = RecordDocument(store: store)
    var shown = ShownRecord(try writer.members(kind, record))
    if kind == Registry.trip { shown.members += try store.tripSummary(record.key.id).members }
    guard kind == Registry.attachment, let output else { return shown }
    guard let data = record[AttachmentInput.dataField], data != .null else {
      throw WaymarkError.failed(
        .noContent, "This attachment has no content.", next: .waymark("attachment edit ID file=PATH"))
    }
    return try shown.written(contents.bytes(of: data), to: output, in: home, overwrites: overwrites)
  }

  /// Returns the id of the trip that the user means by a name.
  package func trip(_ name: String) throws -> RecordID { try names.resolve(Registry.trip, name).key.id }

  /// Returns a trip and all its items in chronological order.
  package func timeline(_ name: String) throws -> (
    trip: ShownReference, items: [(kind: String, record: ShownRecord)]
  ) {
    let trip = try names.resolve(Registry.trip, name)
    var writer = RecordDocument(store: store)
    let items = try store.timeline(of: trip.key).map { kind, record in
      (kind: kind.name, record: ShownRecord(try writer.members(kind, record)))
    }
    return (reference(Registry.trip, trip), items)
  }

  private func reference(_ kind: Kind, _ record: RecordRow) -> ShownReference {
    ShownReference(kind: kind.name, id: record.key.id.uuid, name: kind.title(of: record))
  }

  // MARK: Writing

  /// Prepares the change that adds a record.
  package func adding(_ kind: Kind, _ pairs: Pairs) throws -> (id: String, change: PreparedChange) {
    let editing = RecordEditing(store: store, kind: kind, held: nil, now: now, ownZone: zone)
    let (key, drafts) = try editing.add(pairs)
    return (key.id.uuid, PreparedChange(verb: "\(kind.name).add", entries: drafts))
  }

  /// Prepares the change of some fields of a record.
  package func editing(_ kind: Kind, _ name: String, _ pairs: Pairs) throws -> (
    id: String, change: PreparedChange
  ) {
    let record = try names.resolve(kind, name)
    try Self.checkSomething(pairs)
    let editing = RecordEditing(store: store, kind: kind, held: record, now: now, ownZone: zone)
    return (
      record.key.id.uuid, PreparedChange(verb: "\(kind.name).edit", entries: try editing.edit(pairs))
    )
  }

  private static func checkSomething(_ pairs: Pairs) throws {
    guard pairs.isEmpty else { return }
    throw WaymarkError.usage("Nothing to change: give at least one `field=value`.")
  }

  /// Prepares the deletion of a record.
  ///
  /// - Parameter force: whether to delete an organization even if it is in use.
  package func deleting(_ kind: Kind, _ name: String, force: Bool) throws -> (
    record: ShownReference, change: PreparedChange
  ) {
    let record = try names.resolve(kind, name)
    if kind == Registry.organization { try store.checkDeletable(organization: record, force: force) }
    return (
      reference(kind, record),
      PreparedChange(verb: "\(kind.name).delete", entries: [EntryDraft(.delete, record.key)])
    )
  }

  // MARK: Trash

  /// Returns the records of a kind that are deleted, or hidden because a record that they belong to is deleted. The
  /// most recently deleted come first.
  package func deleted(_ kind: Kind) throws -> [(record: ShownRecord, deletion: ShownDeletion)] {
    var writer = RecordDocument(store: store)
    return try Trash(store: store).records(kind).map { record, deletion in
      (ShownRecord(try writer.members(kind, record)), try shown(deletion, of: record))
    }
  }

  /// Returns the records of all kinds that are deleted, or hidden because a record that they belong to is deleted. The
  /// most recently deleted come first. The parts of files and addresses, which are not shown as records, are left out.
  package func trash() throws -> [(record: ShownReference, deletion: ShownDeletion)] {
    let trash = Trash(store: store)
    let found = try Trash.kinds.filter { $0 != Registry.address }.flatMap { try trash.records($0) }
    return try found.sorted { $0.deletion.author.origin.stamp.clock > $1.deletion.author.origin.stamp.clock }
      .map { (try store.shownReference($0.record.key), try shown($0.deletion, of: $0.record)) }
  }

  private func shown(_ deletion: Deletion, of record: RecordRow) throws -> ShownDeletion {
    let isOwn = deletion.record == record.key
    let device = deletion.author.log.device
    return ShownDeletion(
      deleted: isOwn, deletedAt: CivilTime.text(deletion.author.origin.stamp.clock.milliseconds),
      deletedBy: device, deletedByName: deviceName(device),
      hiddenBy: isOwn ? nil : try store.shownReference(deletion.record))
  }

  /// Prepares the restoration of a deleted record.
  package func restoring(_ kind: Kind, _ name: String) throws -> (
    record: ShownReference, change: PreparedChange
  ) {
    let record = try deleted(kind, name)
    guard !record.isAlive else { throw try hidden(kind, record) }
    try store.checkNotErased(record, deviceName)
    return (
      reference(kind, record),
      PreparedChange(verb: "\(kind.name).restore", entries: [EntryDraft(.restore, record.key)])
    )
  }

  /// Reports whether a record is visible and, if it is not, which deleted record hides it. A record that does not
  /// exist counts as visible.
  package func visibility(_ kind: Kind, _ id: String) throws -> (isVisible: Bool, hiddenBy: ShownReference?) {
    guard let id = RecordID(uuid: id), let record = try store.record(RecordKey(kind: kind.number, id: id)),
      !record.isVisible
    else { return (true, nil) }
    return (false, try store.deletion(hiding: record).map { try store.shownReference($0.record) })
  }

  /// Returns the record that a name means among the records in the trash. If there is none but a visible record has
  /// this name, the error says so.
  private func deleted(_ kind: Kind, _ name: String) throws -> RecordRow {
    let trash = NameResolver(store: store, scope: .gone)
    if try trash.find(kind, name).isEmpty, let visible = try names.find(kind, name).first {
      throw WaymarkError.failed(
        .notDeleted, "The \(kind.name) “\(kind.title(of: visible) ?? visible.key.id.uuid)” is not deleted.",
        next: .waymark("\(kind.name) list --deleted"))
    }
    return try trash.resolve(kind, name)
  }

  /// Returns the error for restoring a record that is not itself deleted, but is hidden because its parent is deleted
  /// or missing.
  private func hidden(_ kind: Kind, _ record: RecordRow) throws -> WaymarkError {
    let title = kind.title(of: record) ?? record.key.id.uuid
    guard let above = try store.deletion(hiding: record)?.record, let aboveKind = Registry.kind(above.kind)
    else {
      return .failed(
        .hidden, "The \(kind.name) “\(title)” is hidden because the record that it belongs to is missing.",
        next: .waymark("history \(shellWord(title))"))
    }
    let name = try store.title(above) ?? above.id.uuid
    return .failed(
      .hidden,
      "The \(kind.name) “\(title)” is hidden because the \(aboveKind.name) “\(name)” is deleted.",
      next: .waymark("\(aboveKind.name) restore \(shellWord(name))"))
  }

  // MARK: Profile

  /// Returns the profile. If an output path is given, also writes the picture to that file and adds the path to the
  /// result.
  package func profile(output: String?, overwrites: Bool) throws -> ShownRecord {
    var writer = RecordDocument(store: store)
    let held = try store.heldProfile()
    let shown = ShownRecord(Array(try writer.members(Registry.profile, held).dropFirst()))
    guard let output else { return shown }
    guard let picture = held[ProfileWrite.avatar], !picture.isEmpty else {
      throw WaymarkError.failed(
        .noContent, "The profile has no picture.", next: .waymark("profile set avatar=FILE"))
    }
    return try shown.written(contents.bytes(of: picture), to: output, in: home, overwrites: overwrites)
  }

  /// Prepares the change of some fields of the profile, and returns it with the profile's new time of change; nil if
  /// the profile already has these values.
  package func editingProfile(_ pairs: Pairs) throws -> (updatedAt: String, change: PreparedChange)? {
    try Self.checkSomething(pairs)
    if pairs.contains(where: { $0.name == "updatedAt" }) {
      throw WaymarkError.usage("`updatedAt` is set automatically and can't be changed.")
    }
    let held = try store.heldProfile()
    var pairs = pairs
    let picture = try takePicture(&pairs)
    let editing = RecordEditing(
      store: store, kind: Registry.profile, held: held, now: now, ownZone: zone)
    var changed = try editing.changes(pairs)
    if let picture, picture != held[ProfileWrite.avatar] { changed.append((ProfileWrite.avatar, picture)) }
    guard !changed.isEmpty else { return nil }
    let write = ProfileWrite(
      held: held, heldAt: try store.timeOfChange(of: held.key) ?? 0, changed: changed, now: now)
    return (
      CivilTime.text(write.updatedAt),
      PreparedChange(
        verb: "profile.set", entries: [write.draft], leastClock: write.leastClock)
    )
  }

  /// Removes the pair `avatar=PATH` from the pairs and returns the picture that it sets, read from the file; an empty
  /// path removes the picture. Returns nil if there is no such pair.
  private func takePicture(_ pairs: inout Pairs) throws -> Value? {
    guard let index = pairs.firstIndex(where: { $0.name == "avatar" }) else { return nil }
    let path = pairs.remove(at: index).value
    if path.isEmpty { return .null }
    let bytes = try Files.read(path, bytesMax: Limits.attachmentBytesMax, what: "picture")
    return try withFileErrors(path) { try store.keep(bytes, now: now) }
  }
}

/// The deletion of a record, or of the record that hides it.
package struct ShownDeletion: Hashable, Sendable, Codable {
  /// Whether the record itself was deleted, rather than a record that it belongs to.
  package let deleted: Bool
  package let deletedAt: String
  package let deletedBy: DeviceKey
  package let deletedByName: String
  /// The deleted record that this record belongs to; nil if this record itself was deleted.
  package let hiddenBy: ShownReference?
}

extension ShownRecord {
  /// Writes the content of the record to a file, and returns the record with the file's path added.
  fileprivate func written(
    _ bytes: [UInt8], to path: String, in home: Home, overwrites: Bool
  ) throws -> ShownRecord {
    try OutputFile(path, in: home, overwrites: overwrites).write(bytes)
    return ShownRecord(members + [.init("output", .string(path))])
  }
}

extension TripSummary {
  /// The members that `trip show` and `trip list` add to the fields of a trip.
  fileprivate var members: [JSON.Member] {
    let totals = totals.map {
      JSON.object([.init("amount", .text($0.amount)), .init("currency", .text($0.currency))])
    }
    return [
      .init("activities", .integer(lodgings + transportations + activities)),
      .init("firstStart", timeJSON(firstStart)), .init("lastEnd", timeJSON(lastEnd)),
      .init("totals", .array(totals)),
    ]
  }
}

extension Store {
  func shownReference(_ key: RecordKey) throws -> ShownReference {
    ShownReference(kind: RecordKind(key.kind).rawValue, id: key.id.uuid, name: try title(key))
  }

  /// Throws an error if an organization can't be deleted: if it is None, or if it is in use and the deletion is not
  /// forced.
  func checkDeletable(organization record: RecordRow, force: Bool) throws {
    guard record.key != FixedRecords.none else {
      throw WaymarkError.usage("The organization None means “no organization” and can't be deleted.")
    }
    let users = try RecordList(store: self, names: NameResolver(store: self))
      .users(ofOrganization: record.key.id)
    guard users.isEmpty || force else {
      let name = record.text(FixedRecords.organizationName) ?? record.key.id.uuid
      throw WaymarkError(
        exitCode: ExitCode.needsYes, code: .inUse,
        message: "“\(name)” is used by \(users.count) \(users.count == 1 ? "item" : "items"). "
          + "With --force it is deleted, and their organization becomes None.",
        next: .waymark("organization delete \(shellWord(name)) --force"), candidates: users)
    }
  }
}
