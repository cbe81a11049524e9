package import FileFormat
import Platform
package import Home
import JSONDocument
import LogStorage
package import Reasons
import RecordTables
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
  let fileState: (FileReference) throws -> FileState

  package init(
    store: Store, home: Home, now: Moment, zone: String?, deviceName: @escaping (DeviceKey) -> String,
    fileState: @escaping (FileReference) throws -> FileState
  ) {
    (self.store, self.home, self.now, self.deviceName) = (store, home, now, deviceName)
    self.fileState = fileState
    self.zone = zone ?? CivilTime.ownZoneName
  }

  /// `name=value` pairs, in the order in which the user typed them.
  package typealias Pairs = [(name: String, value: String)]

  private var names: NameResolver { NameResolver(store: store) }
  private var contents: StoredContents { StoredContents(store: store) }
  private var document: RecordDocument { RecordDocument(store: store, fileState: fileState) }

  // MARK: Reading

  /// Returns the visible records of a kind that pass the filters, and their number without the limit.
  ///
  /// - Parameter filter: returns the typed value of the filter with a given name; nil if the user did not type it.
  ///   See `RecordList`.
  package func list(_ kind: Kind, _ filter: RecordList.Filter) throws -> (records: [ShownRecord], total: Int)
  {
    let summaries = kind == Kind.trip ? try store.tripSummaries() : [:]
    let today = CalendarDay(CivilTime.day(now, zone: zone)) ?? CalendarDay(daysSince1970: 0)
    let (rows, total) = try RecordList(store: store, names: names, today: today).records(kind, filter)
    let shortIDs = try store.shortIDs(of: rows.map(\.key.id))
    var writer = document
    let records = try rows.map { record in
      var members = try writer.members(kind, record, shortID: shortIDs[record.key.id])
      if kind == Kind.trip { members += (summaries[record.key.id] ?? TripSummary()).members }
      return ShownRecord(members)
    }
    return (records, total)
  }

  /// Returns one record.
  package func show(_ kind: Kind, _ name: String) throws -> ShownRecord {
    let record = try names.resolve(kind, name)
    var writer = document
    var members = try writer.members(kind, record)
    if kind == Kind.trip { members += try tripMembers(record) }
    if kind == Kind.habit { members += try habitMembers(record) }
    return ShownRecord(members)
  }

  /// Returns the members that `trip show` adds to the fields of a trip: as in lists, but with the first start and the last
  /// end in the zones of their items.
  private func tripMembers(_ record: RecordRow) throws -> [JSON.Member] {
    let summary = try store.tripSummary(record.key.id)
    let items = try store.timeline(of: record.key)
    func zone(_ moment: Moment?, _ field: String) -> String? {
      items.lazy.compactMap { kind, row in
        row[kind.number(field)].flatMap { $0.part(0).asInteger == moment ? $0.part(1).asText : nil }
      }.first
    }
    return summary.members.map { member in
      switch member.key {
      case "firstStart":
        .init(member.key, timeJSON(summary.firstStart, zone: zone(summary.firstStart, "start")))
      case "lastEnd": .init(member.key, timeJSON(summary.lastEnd, zone: zone(summary.lastEnd, "end")))
      default: member
      }
    }
  }

  /// Returns the members that `habit show` adds to the fields of a habit: its streaks, and the days of the current month.
  private func habitMembers(_ record: RecordRow) throws -> [JSON.Member] {
    var time = EvaluationTime(now: now)
    guard let progress = try store.progress(of: Habit.ID(record.key.id), since: nil, now: nil, &time) else {
      return []
    }
    return try DocumentCoding.encode(HabitCalendar(progress)).members ?? []
  }

  /// Returns the name of a record, under which messages show it; nil if it has none.
  package func title(_ kind: Kind, _ id: String) throws -> String? {
    try RecordText.id(id).flatMap { try store.title(RecordKey(kind: kind.number, id: $0)) }
  }

  /// Returns the value that holds an attachment's bytes or names its file; nil for records of other kinds.
  package func content(_ kind: Kind, _ name: String) throws -> Value? {
    guard kind == Kind.attachment else { return nil }
    guard let data = try names.resolve(kind, name)[AttachmentInput.dataField], data != .null else {
      throw WaymarkError.attachmentWithoutContent
    }
    return data
  }

  /// Returns the attachment that the user means by a name. The file is nil if the content is stored in the record itself,
  /// or if there is none.
  package func attachment(_ name: String) throws -> (
    id: String, name: String, bytes: Int, file: FileReference?
  ) {
    let record = try names.resolve(Kind.attachment, name)
    let blob = Blob(record[AttachmentInput.dataField])
    var file: FileReference?
    if case .file(let found)? = blob { file = found }
    return (
      record.key.id.uuid, Kind.attachment.title(of: record) ?? name, blob?.byteCount ?? 0, file
    )
  }

  /// Returns the file that holds the profile's picture; nil if the picture is stored in the profile itself, or if there
  /// is none.
  package func fileOfPicture() throws -> FileReference? {
    guard case .file(let file)? = Blob(try store.heldProfile()[ProfileWrite.avatar]) else { return nil }
    return file
  }

  /// Returns the id of the trip that the user means by a name.
  package func trip(_ name: String) throws -> RecordID { try names.resolve(Kind.trip, name).key.id }

  /// Returns a trip and all its items in chronological order.
  package func timeline(_ name: String) throws -> (
    trip: ShownReference, items: [(kind: String, record: ShownRecord)]
  ) {
    let trip = try names.resolve(Kind.trip, name)
    var writer = document
    let items = try store.timeline(of: trip.key).map { kind, record in
      (kind: kind.name, record: ShownRecord(try writer.members(kind, record)))
    }
    return (reference(Kind.trip, trip), items)
  }

  private func reference(_ kind: Kind, _ record: RecordRow) -> ShownReference {
    ShownReference(kind: kind.name, id: record.key.id.uuid, name: kind.title(of: record))
  }

  // MARK: Writing

  /// Returns the paths of the files that typed fields name. They must be added to the store before the fields are
  /// written.
  package static func paths(in pairs: Pairs, of kind: Kind) -> [String] {
    let field = kind == Kind.attachment ? "file" : kind == Kind.profile ? "avatar" : nil
    return pairs.filter { $0.name == field && !$0.value.isEmpty }.map(\.value)
  }

  /// Prepares the change that adds a record; of several files, it adds one attachment each.
  ///
  /// - Parameter files: the added files by path. A path that is missing stands for a file that is added later.
  package func adding(
    _ kind: Kind, _ pairs: Pairs, _ files: [String: AddedFile]
  ) throws -> (ids: [String], change: PreparedChange) {
    let editing = RecordEditing(
      store: store, kind: kind, held: nil, now: now, ownZone: zone, files: files)
    let named = kind == Kind.attachment ? pairs.filter { $0.name == "file" } : []
    let others = pairs.filter { pair in named.isEmpty || pair.name != "file" }
    let added = try (named.isEmpty ? [others] : named.map { others + [$0] }).map { try editing.add($0) }
    return (
      added.map(\.0.id.uuid), PreparedChange(verb: "\(kind.name).add", entries: added.flatMap(\.1))
    )
  }

  /// Prepares the change of some fields of a record.
  package func editing(
    _ kind: Kind, _ name: String, _ pairs: Pairs, _ files: [String: AddedFile]
  ) throws -> (id: String, change: PreparedChange) {
    let record = try names.resolve(kind, name)
    try Self.checkSomething(pairs)
    let editing = RecordEditing(
      store: store, kind: kind, held: record, now: now, ownZone: zone, files: files)
    return (
      record.key.id.uuid, PreparedChange(verb: "\(kind.name).edit", entries: try editing.edit(pairs))
    )
  }

  private static func checkSomething(_ pairs: Pairs) throws {
    guard pairs.isEmpty else { return }
    throw WaymarkError.usage("Nothing to change.", next: "give at least one field=value")
  }

  /// Prepares the deletion of a record.
  ///
  /// - Parameters:
  ///   - force: whether to delete an organization or a category even if it is in use.
  ///   - isConfirmed: whether to delete a protected trip, or a record of which only a part of the name or id was typed.
  package func deleting(_ kind: Kind, _ name: String, force: Bool, isConfirmed: Bool) throws -> (
    record: ShownReference, contents: [ContentCount], change: PreparedChange
  ) {
    var names = names
    names.matchesInside = false
    let record = try names.resolve(kind, name)
    if kind == Kind.organization { try store.checkDeletable(organization: record, force: force) }
    if kind == Kind.category { try store.checkDeletable(category: record, force: force) }
    let contents = try store.contents(of: record.key)
    if !isConfirmed { try checkMeant(kind, record, typed: name, contents) }
    return (
      reference(kind, record), contents,
      PreparedChange(verb: "\(kind.name).delete", entries: [EntryDraft(.delete, record.key)])
    )
  }

  private func checkMeant(
    _ kind: Kind, _ record: RecordRow, typed name: String, _ contents: [ContentCount]
  ) throws {
    let title = kind.title(of: record) ?? record.key.id.uuid
    let shown: LocalizableText = "the \(kind.noun) “\(shortened(title))”"
    let with: LocalizableText = contents.isEmpty ? "" : " with \(ContentCount.text(contents))"
    let next = Step.waymark("\(kind.name) delete \(shellWord(title)) --yes")
    if record[kind.field(named: "isProtected")?.number ?? Fields.life] == .bool(true), kind == Kind.trip {
      throw WaymarkError.needsYes(
        "\(sentence: shown) is protected. It will be deleted\(with).", next: next)
    }
    guard kind.isWhole(name, of: record) else {
      throw WaymarkError.needsYes(
        "“\(shortened(name))” means \(shown), which will be deleted\(with).", next: next)
    }
  }

  /// Returns the short ids of records, by their ids.
  package func shortIDs(of ids: [String]) throws -> [String: String] {
    let short = try store.shortIDs(of: ids.compactMap { RecordID(uuid: $0) })
    return Dictionary(uniqueKeysWithValues: short.map { ($0.key.uuid, $0.value) })
  }

  // MARK: Trash

  /// Returns the records of a kind that are deleted, or hidden because a record that they belong to is deleted. The
  /// most recently deleted come first.
  package func deleted(_ kind: Kind) throws -> [(record: ShownRecord, deletion: ShownDeletion)] {
    var writer = document
    let found = try Trash(store: store).records(kind)
    let shortIDs = try store.shortIDs(of: found.map(\.record.key.id))
    return try found.map { record, deletion in
      let members = try writer.members(kind, record, shortID: shortIDs[record.key.id])
      return (ShownRecord(members), try shown(deletion, of: record))
    }
  }

  /// Returns the records of all kinds that are deleted, or hidden because a record that they belong to is deleted. The
  /// most recently deleted come first. The parts of files and addresses, which are not shown as records, are left out.
  package func trash() throws -> [(record: ShownReference, deletion: ShownDeletion)] {
    try Trash(store: store).records()
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
        .notDeleted, "The \(kind.noun) “\(kind.title(of: visible) ?? visible.key.id.uuid)” is not deleted.",
        next: .waymark("\(kind.name) list --deleted"))
    }
    return try trash.resolve(kind, name)
  }

  /// Returns the error for restoring a record that is not itself deleted, but is hidden because its parent is deleted
  /// or missing.
  private func hidden(_ kind: Kind, _ record: RecordRow) throws -> WaymarkError {
    let title = kind.title(of: record) ?? record.key.id.uuid
    guard let above = try store.deletion(hiding: record)?.record,
      let aboveKind = store.schema.kind(above.kind)
    else {
      return .failed(
        .hidden, "The \(kind.noun) “\(title)” is hidden because the record that it belongs to is missing.",
        next: .waymark("history \(shellWord(title))"))
    }
    let name = try store.title(above) ?? above.id.uuid
    return .failed(
      .hidden,
      "The \(kind.noun) “\(title)” is hidden because the \(aboveKind.noun) “\(name)” is deleted.",
      next: .waymark("\(aboveKind.name) restore \(shellWord(name))"))
  }

  // MARK: Profile

  /// Returns the profile.
  package func profile() throws -> ShownRecord {
    var writer = document
    return ShownRecord(try writer.members(Kind.profile, try store.heldProfile()))
  }

  /// Returns the value that holds the bytes of the profile's picture or names its file.
  package func picture() throws -> Value {
    guard let picture = try store.heldProfile()[ProfileWrite.avatar], !picture.isEmpty else {
      throw WaymarkError.failed(
        .noContent, "The profile has no picture.", next: .waymark("profile set avatar=FILE"))
    }
    return picture
  }

  /// Prepares the change of some fields of the profile, and returns it with the profile's new time of change; the
  /// change is empty and the time nil if the profile already has these values.
  package func editingProfile(
    _ pairs: Pairs, _ files: [String: AddedFile]
  ) throws -> (updatedAt: String?, change: PreparedChange) {
    try Self.checkSomething(pairs)
    if pairs.contains(where: { $0.name == "updatedAt" }) {
      throw WaymarkError.usage("`updatedAt` is set automatically and can't be changed.")
    }
    let held = try store.heldProfile()
    var pairs = pairs
    let picture = try takePicture(&pairs, files)
    let editing = RecordEditing(
      store: store, kind: Kind.profile, held: held, now: now, ownZone: zone)
    var changed = try editing.changes(pairs)
    if let picture, !isSame(picture, held[ProfileWrite.avatar]) {
      changed.append((ProfileWrite.avatar, picture))
    }
    guard !changed.isEmpty else { return (nil, PreparedChange(verb: "profile.set", entries: [])) }
    let write = ProfileWrite(
      held: held, heldAt: try store.timeOfChange(of: held.key) ?? 0, changed: changed, now: now)
    return (
      CivilTime.text(write.updatedAt),
      PreparedChange(
        verb: "profile.set", entries: [write.draft], leastClock: write.leastClock)
    )
  }

  /// Removes the pair `avatar=PATH` from the pairs and returns the picture that it sets; an empty path removes the
  /// picture. Returns nil if there is no such pair.
  private func takePicture(_ pairs: inout Pairs, _ files: [String: AddedFile]) throws -> Value? {
    guard let index = pairs.firstIndex(where: { $0.name == "avatar" }) else { return nil }
    let path = pairs.remove(at: index).value
    if path.isEmpty { return .null }
    // Before the file is read, its size here is 0, and only that on the disk is known.
    let size = max(files[path]?.byteCount ?? 0, Int(clamping: Files.size(path) ?? 0))
    guard size <= Limits.attachmentBytesMax else {
      throw Files.tooLarge(path, "picture", Limits.attachmentBytesMax)
    }
    return files[path]?.value ?? .bytes([])
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
  /// Returns the record with the path of the file to which its content was written.
  package func written(to path: String) -> ShownRecord {
    ShownRecord(members + [.init("output", .string(path))])
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

/// How many records of a kind are in a record.
package struct ContentCount: Hashable, Sendable, Codable {
  package let kind: String
  /// The plural of the kind's name.
  package let many: String
  package let count: Int

  /// `1 lodging, 2 activities`
  package static func text(_ counts: [ContentCount]) -> LocalizableText {
    counts.map { "\($0.count) \(LocalizableText(kind: $0.count == 1 ? $0.kind : $0.many))" }.joined(
      separator: ", ")
  }
}

extension Store {
  /// Returns the numbers of the visible records that belong to a record, directly or through another record.
  fileprivate func contents(of record: RecordKey) throws -> [ContentCount] {
    var counts: [Kind: Int] = [:]
    var waiting = [record]
    while let next = waiting.popLast() {
      for kind in schema.listed where kind.parentKinds.contains(next.kind) {
        let children = try children(of: next, kind.number).filter(\.isVisible)
        if !children.isEmpty { counts[kind, default: 0] += children.count }
        waiting += children.map(\.key)
      }
    }
    return schema.listed.compactMap { kind in
      counts[kind].map { ContentCount(kind: kind.name, many: kind.plural, count: $0) }
    }
  }

  /// Throws an error if a category is in use by habits and the deletion is not forced.
  fileprivate func checkDeletable(category record: RecordRow, force: Bool) throws {
    let key = record.text(Kind.category.number("key")) ?? ""
    let users = try users(ofCategory: key)
    guard users.isEmpty || force else {
      let name = Kind.category.title(of: record) ?? key
      throw WaymarkError(
        exitCode: ExitCode.needsYes, code: .inUse,
        message: "“\(name)” is used by \(plural(users.count, "habit")). "
          + "If it is deleted anyway, they have no category until it is restored.",
        next: .waymark("category delete \(shellWord(name)) --force"), candidates: users)
    }
  }

  func shownReference(_ key: RecordKey) throws -> ShownReference {
    ShownReference(kind: schema.name(key.kind).rawValue, id: key.id.uuid, name: try title(key))
  }

  /// Throws an error if an organization can't be deleted: if it is None, or if it is in use and the deletion is not
  /// forced.
  func checkDeletable(organization record: RecordRow, force: Bool) throws {
    guard record.key != FixedRecords.none else {
      throw WaymarkError.usage("The organization None means “no organization” and can't be deleted.")
    }
    let users = try users(ofOrganization: record.key.id)
    guard users.isEmpty || force else {
      let name = record.text(FixedRecords.organizationName) ?? record.key.id.uuid
      throw WaymarkError(
        exitCode: ExitCode.needsYes, code: .inUse,
        message: "“\(name)” is used by \(users.count) \(users.count == 1 ? "item" : "items"). "
          + "If it is deleted anyway, their organization becomes None.",
        next: .waymark("organization delete \(shellWord(name)) --force"), candidates: users)
    }
  }
}
