import JSONDocument
import Waymark

/// `mirror`, `assert`, `cleanup`: large changes, shown with the way back.
extension Rendering {
  mutating func direction(_ document: JSON, _ verb: String) {
    let isPreview = document["preview"]?.boolean == true
    let kinds = document["kinds"]?.array ?? []
    if kinds.isEmpty {
      notes.paragraph(
        isPreview || document["backup"]?.isNull != false
          ? "Nothing differs: all records are so already." : "Nothing that is visible has changed.")
    } else {
      data.table(changes(kinds))
    }
    if isPreview, let unknown = document["unknown"]?.integer, unknown > 0 {
      notes.paragraph(
        "Besides, what belongs to the trip of \(counted(unknown, "record")) that this device has never seen.")
    }
    let away = (document["notAsked"]?.array ?? []).compactMap { $0["name"]?.string }.map(printable)
    if !away.isEmpty {
      notes.paragraph(
        "Not there: \(away.joined(separator: ", ")). What only they hold merges as usual when they come.")
    }
    if document["turnsSyncOn"]?.boolean == true {
      notes.paragraph(isPreview ? "Sync of records would be turned on." : "Sync of records is on now.")
    }
    if isPreview { return notes.paragraph("Nothing is written.") }
    for item in document["elsewhere"]?.array ?? [] {
      let records = counted(
        item["records"]?.integer ?? 0, item["kind"]?.string ?? "record", item["plural"]?.string)
      notes.paragraph("Changed on other devices meanwhile, and merged as usual: \(printable(records)).")
    }
    wayBack(document)
  }

  private func changes(_ kinds: [JSON]) -> TextTable {
    let words = ["added", "changed", "deleted", "restored"]
    var table = TextTable(
      [.init("KIND", widthMin: 12)] + words.map { .init($0.uppercased(), isRight: true) })
    for kind in kinds {
      table.rows.append(
        [.init(kind["plural"]?.string ?? "")] + words.map { .init(grouped(kind[$0]?.integer ?? 0)) })
    }
    return table
  }

  mutating func cleanup(_ document: JSON) {
    let trips = document["trips"]?.array ?? []
    guard !trips.isEmpty else { return notes.paragraph("No trip looks as if a test had left it behind.") }
    let ids = distinctPrefixes(trips.compactMap { $0["id"]?.string })
    var table = TextTable([
      .init("ID"), .init("NAME", widthMin: 16), .init("ITEMS", isRight: true), .init("BECAUSE OF"),
    ])
    for trip in trips {
      let id = trip["id"]?.string ?? ""
      table.rows.append([
        .init(ids[id] ?? id, .faint), .init(trip["name"]?.string ?? ""),
        .init(grouped(trip["items"]?.integer ?? 0)), .init("“\(trip["mark"]?.string ?? "")”"),
      ])
    }
    data.table(table)
    guard document["preview"]?.boolean != true else {
      return notes.paragraph("Nothing is deleted. Next: \(waymark: "cleanup")")
    }
    notes.paragraph("Deleted \(counted(document["deleted"]?.integer ?? 0, "trip")).")
    wayBack(document)
  }

  mutating func restamp(_ document: JSON) {
    let count = document["changeSets"]?.integer ?? 0
    guard count > 0 else { return notes.paragraph("Nothing that this device wrote is dated ahead.") }
    let sets = counted(count, "change set")
    let newest = document["newest"]?.string ?? ""
    guard document["preview"]?.boolean != true else {
      return notes.paragraph(
        "\(sets) dated ahead, up to \(newest); this machine's clock says \(document["now"]?.string ?? ""). "
          + "Nothing is changed. Next: \(waymark: "restamp")")
    }
    notes.paragraph("\(sets) dated ahead, up to \(newest), written again with the present time.")
    wayBack(document)
  }

  /// The backup that was taken, and the undo.
  mutating func wayBack(_ document: JSON) {
    if let backup = document["backup"]?.string { notes.paragraph("Backup: \(printable(backup))") }
    if let operation = document["operation"]?.string {
      notes.paragraph("To take it back: \(waymark: "undo \(shortID(operation))")")
    }
  }
}
