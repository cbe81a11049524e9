import JSONDocument
import Records
import Replication
import Storage
import Wire

/// `profile show|set`: the one profile, which is written as a whole.
extension Node {
  func showProfile(_ request: CommandRequest) throws -> JSON {
    var writer = RecordDocument(store: store)
    var members = try writer.members(Registry.profile, try heldProfile())
    members.removeFirst()
    if let output = request.text("output") {
      members.append(try saveAvatar(output, overwrites: request.flag("yes")))
    }
    return document(request.command, members)
  }

  func setProfile(_ request: CommandRequest) throws -> JSON {
    var pairs = try request.fields()
    guard !pairs.isEmpty else {
      throw WaymarkError.usage("Nothing to change: give at least one `field=value`.")
    }
    if pairs.contains(where: { $0.name == "updatedAt" }) {
      throw WaymarkError.usage("`updatedAt` is set by every change and can't be typed.")
    }
    let held = try heldProfile()
    let avatar = try takeAvatar(&pairs)
    let editing = RecordEditing(
      store: store, kind: Registry.profile, held: held, now: wall(), ownZone: ownZone(request))
    var changed = try editing.changes(pairs)
    if let avatar, avatar.value != held[ProfileWrite.avatar] {
      changed.append((ProfileWrite.avatar, avatar.value))
    }
    guard !changed.isEmpty else { return document(request.command, [.init("changed", false)]) }
    let write = ProfileWrite(
      held: held, heldAt: try store.profileTime(held), changed: changed, now: wall())
    _ = try self.write(
      request.command, (avatar?.contents ?? []) + [write.draft], leastClock: write.leastClock)
    return document(request.command, [.init("changed", true), .init("updatedAt", timeJSON(write.updatedAt))])
  }

  func heldProfile() throws -> RecordRow {
    guard let profile = try store.record(FixedRecords.profile) else {
      throw WaymarkError.failed("store", "The store has lost its profile record.", next: "waymark status")
    }
    return profile
  }

  /// `avatar=PATH`: the picture in a file; nothing behind the sign takes it away.
  private func takeAvatar(
    _ pairs: inout [(name: String, value: String)]
  ) throws -> (value: Value, contents: [EntryDraft])? {
    guard let index = pairs.firstIndex(where: { $0.name == "avatar" }) else { return nil }
    let path = pairs.remove(at: index).value
    if path.isEmpty { return (.null, []) }
    let cut = Contents.cut(try Files.read(path, bytesMax: Limits.attachmentBytesMax, what: "picture"))
    return (cut.value, try contents.missing(cut.records))
  }

  private func saveAvatar(_ path: String, overwrites: Bool) throws -> JSON.Member {
    guard let value = try heldProfile()[ProfileWrite.avatar], !value.isEmpty else {
      throw WaymarkError.failed(
        "no_content", "The profile has no picture.", next: "waymark profile set avatar=FILE")
    }
    try OutputFile(path, in: home, overwrites: overwrites).write(try contents.bytes(of: value))
    return .init("output", .string(path))
  }
}

/// One write of the profile: every put carries all fields, and its time of change is above the held one.
struct ProfileWrite {
  let updatedAt: Moment
  let draft: EntryDraft

  static let avatar = Registry.profile.number("avatar")

  /// The clock of the set must not be before the time of change, or the time would be cut down to it.
  var leastClock: Clock { Clock(milliseconds: updatedAt) }

  /// A local edit, whose time is above that of the held value as merging reads it.
  init(
    held: RecordRow, heldAt: Moment, changed: [(field: FieldNumber, value: Value)], now: Moment
  ) {
    self.init(held: held, changed: changed, updatedAt: max(now, heldAt + 1))
  }

  /// A write with a time of change of its own, as an import has it.
  init(held: RecordRow, changed: [(field: FieldNumber, value: Value)], updatedAt: Moment) {
    self.updatedAt = updatedAt
    var values = held.allFields
    for (field, value) in changed { values[field] = value }
    values[Fields.wholeRecordUpdatedAt] = .integer(updatedAt)
    values[Fields.life] = nil
    let fields = values.filter { !$0.value.isEmpty || $0.value == .array([]) }
      .sorted { $0.key < $1.key }
    draft = EntryDraft(.put, FixedRecords.profile, fields.map { (field: $0.key, value: $0.value) })
  }
}

extension Store {
  /// The profile's time of change as merging reads it: at most the clock of the set that wrote it, so that a date
  /// in the far future, from a file or a wrong clock, does not pull this device's clock along.
  func profileTime(_ held: RecordRow) throws -> Moment {
    let clock = try origins(of: held).values.map(\.clock).max() ?? .zero
    return min(held[Fields.wholeRecordUpdatedAt]?.asInteger ?? 0, clock.milliseconds)
  }
}
