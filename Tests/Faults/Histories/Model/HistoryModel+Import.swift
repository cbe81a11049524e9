// Protocol/records.md, "Full export", and Protocol/merge.md, "Whole records"

extension HistoryModel {
  /// An exported file: the visible records of a device and their contents.
  struct File {
    /// A record, with the fields that the file has; null for a field without a value.
    struct Row {
      let record: Int
      var fields: [Field: Content]
    }

    var rows: [Row]
    /// The files that it contains.
    var contents: Set<String> = []
    /// The profile, with the operation whose time of change it has; nil if it was never filled in.
    var profile: (content: Content, time: Int)?
  }

  /// What importing a file does.
  struct Import {
    var writes: [Cell: Content] = [:]
    /// The operation whose time of change the written profile keeps.
    var time: Int?
    var added = 0
    var updated = 0
    var unchanged = 0
  }

  /// Returns the file that a device exports.
  func file(_ device: Int) -> File {
    let visible = kinds.indices.filter { isRow($0) && isVisible($0, device) }
    let rows = visible.map { record in
      let fields = fields(of: record).map { ($0, shown(Cell(record: record, field: $0), device)) }
      return File.Row(record: record, fields: Dictionary(uniqueKeysWithValues: fields))
    }
    var file = File(rows: rows, contents: files[device])
    let content = shown(Self.wholeProfile, device)
    if content != .null, content != Self.blankProfile,
      let writer = winner(of: Self.wholeProfile, writers(of: Self.wholeProfile, held[device]))
    {
      file.profile = (content, rank(writer).time)
    }
    return file
  }

  static let blankProfile = Content.profile(name: "", zone: "")

  private func isRow(_ record: Int) -> Bool { ![.profile, .setting].contains(kinds[record]) }

  private func fields(of record: Int) -> [Field] {
    switch kinds[record] {
    case .lodging: [.name, .notes, .parent]  // It has no other field that is written when it is created.
    case .attachment: [.name, .notes, .parent, .data, .rest]
    default: [.name, .notes, .rest]
    }
  }

  /// Returns what a device writes when it imports a file: only what differs, and all of a record that it does not have.
  func `import`(_ file: File, _ device: Int) -> Import {
    var result = Import()
    for row in file.rows {
      var writes: [Cell: Content] = [:]
      for (field, content) in row.fields {
        let cell = Cell(record: row.record, field: field)
        if content != shown(cell, device) { writes[cell] = content }
      }
      let isAlive = isAlive(row.record, device)
      if !isAlive { writes[Cell(record: row.record, field: .life)] = .flag(true) }
      if !isAlive {
        result.added += 1
      } else if writes.isEmpty {
        result.unchanged += 1
      } else {
        result.updated += 1
      }
      result.writes.merge(writes) { first, _ in first }
    }
    if let (content, time) = file.profile { importProfile(content, time, device, into: &result) }
    return result
  }

  private func importProfile(_ content: Content, _ time: Int, _ device: Int, into result: inout Import) {
    let shown = winner(of: Self.wholeProfile, writers(of: Self.wholeProfile, held[device]))
    guard let shown else {
      result.writes[Self.wholeProfile] = content
      (result.time, result.added) = (time, result.added + 1)
      return
    }
    let (heldTime, heldFilled, _) = rank(shown)
    // The time of change is a value as well, so the same profile with a later time is written.
    let isSame = content == self.shown(Self.wholeProfile, device) && time == heldTime
    guard case .profile(let name, let zone) = content, !isSame,
      (time, [name, zone].count { !$0.isEmpty }) >= (heldTime, heldFilled)
    else {
      result.unchanged += 1
      return
    }
    result.writes[Self.wholeProfile] = content
    (result.time, result.updated) = (time, result.updated + 1)
  }
}
