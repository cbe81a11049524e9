import JSONDocument
import Records
import Replication
import Sodium
import Storage
import Wire

/// `waymark KIND list|show|add|edit|delete|restore`, the same for every kind.
enum KindCommand {
  /// The kinds that have commands of their own.
  static let kinds = [
    "trip", "lodging", "transportation", "activity", "organization", "habit", "category", "log",
    "attachment",
  ]
  static let actions = ["list", "show", "add", "edit", "delete", "restore"]
}

extension Node {
  /// Carries out one of the actions that every kind has.
  func performKind(_ kind: Kind, _ action: String, _ request: CommandRequest) throws -> JSON {
    switch action {
    case "list": try listRecords(kind, request)
    case "show": try showRecord(kind, request)
    case "add": try addRecord(kind, request)
    case "edit": try editRecord(kind, request)
    case "restore": try restoreRecord(kind, request)
    default: try deleteRecord(kind, request)
    }
  }

  var names: NameResolver { NameResolver(store: store) }

  // MARK: Read

  private func listRecords(_ kind: Kind, _ request: CommandRequest) throws -> JSON {
    if request.flag("deleted") { return try listDeleted(kind, request) }
    if kind.number == KindNumbers.trip { return try listTrips(request) }
    var writer = RecordDocument(store: store)
    let records = try RecordList(store: store, names: names).records(kind, request)
    let items = try records.map { try writer.json(kind, $0) }
    return document(request.command, [.init(kind.plural, .array(items))])
  }

  private func showRecord(_ kind: Kind, _ request: CommandRequest) throws -> JSON {
    let record = try names.resolve(kind, request.required("id", "an id or a name"))
    var writer = RecordDocument(store: store)
    var members = try writer.members(kind, record)
    if kind.number == KindNumbers.trip { append(try store.tripSummary(record.key.id), to: &members) }
    if kind.number == KindNumbers.attachment, let output = request.text("output") {
      try OutputFile(output, in: home, overwrites: request.flag("yes"))
        .write(try contents.bytes(of: try attachmentData(record)))
      members.append(.init("output", .string(output)))
    }
    return document(request.command, members)
  }

  // MARK: Write

  private func addRecord(_ kind: Kind, _ request: CommandRequest) throws -> JSON {
    var editing = RecordEditing(store: store, kind: kind, held: nil, now: wall(), ownZone: ownZone(request))
    editing.newID = { self.newRecordID() }
    let (key, drafts) = try editing.add(try request.fields())
    _ = try write(request.command, drafts)
    return document(request.command, [.init("id", .string(key.id.uuid))])
  }

  private func editRecord(_ kind: Kind, _ request: CommandRequest) throws -> JSON {
    let record = try names.resolve(kind, request.required("id", "an id or a name"))
    let pairs = try request.fields()
    guard !pairs.isEmpty else {
      throw WaymarkError.usage("Nothing to change: give at least one `field=value`.")
    }
    var editing = RecordEditing(
      store: store, kind: kind, held: record, now: wall(), ownZone: ownZone(request))
    editing.newID = { self.newRecordID() }
    let drafts = try editing.edit(pairs)
    if !drafts.isEmpty { _ = try write(request.command, drafts) }
    return document(
      request.command,
      [.init("id", .string(record.key.id.uuid)), .init("changed", .bool(!drafts.isEmpty))])
  }

  private func deleteRecord(_ kind: Kind, _ request: CommandRequest) throws -> JSON {
    let record = try names.resolve(kind, request.required("id", "an id or a name"))
    if kind.number == FixedRecords.organization {
      try mayDelete(organization: record, force: request.flag("force"))
    }
    _ = try write(request.command, [EntryDraft(.delete, record.key)])
    return document(
      request.command,
      [.init("id", .string(record.key.id.uuid)), .init("name", .text(kind.title(of: record)))])
  }

  /// None stays, and what is in use goes only by force.
  func mayDelete(organization record: RecordRow, force: Bool) throws {
    guard record.key != FixedRecords.none else {
      throw WaymarkError.usage("The organization None stands for “no organization” and can't be deleted.")
    }
    let users = try RecordList(store: store, names: names).users(ofOrganization: record.key.id)
    guard users.isEmpty || force else {
      let name = record.text(FixedRecords.organizationName) ?? record.key.id.uuid
      throw WaymarkError(
        exitCode: ExitCode.needsYes, code: "in_use",
        message: "“\(name)” is used by \(users.count) \(users.count == 1 ? "item" : "items"); "
          + "with --force they read as None.",
        next: "waymark organization delete \(shellWord(name)) --force", candidates: users)
    }
  }

  // MARK: What commands share

  /// A version 7 id for a new record.
  func newRecordID() -> RecordID {
    RecordID(milliseconds: wall(), random: Bytes16(randomBytes(16)) ?? .zero)
  }

  /// The zone of the person who typed the command.
  func ownZone(_ request: CommandRequest) -> String {
    request.text("zone") ?? CivilTime.ownZoneName
  }

  var contents: StoredContents { StoredContents(store: store) }

  private func attachmentData(_ record: RecordRow) throws -> Value {
    guard let field = Registry.attachment.field(named: "fileData"), let data = record[field.number],
      data != .null
    else {
      throw WaymarkError.failed(
        "no_content", "This attachment has no content.", next: "waymark attachment edit ID file=PATH")
    }
    return data
  }
}
