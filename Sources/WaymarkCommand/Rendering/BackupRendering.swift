import JSONDocument
import Waymark

/// Backups and what comes back from them.
extension Rendering {
  mutating func restore(_ document: JSON) {
    let isPreview = document["preview"]?.boolean == true
    let records = counted(document["records"]?.integer ?? 0, "record")
    let changeSets = counted(document["changeSets"]?.integer ?? 0, "change set")
    let source =
      "backup of \(printable(document["from"]?.string ?? "")) of \(time.full(document["created"]?.string))"
    data.paragraph(
      "\(isPreview ? "Would restore" : "Restored") \(records) from \(changeSets): \(source)")
    data.pairs([
      (
        "circle",
        (document["circle"]?.string ?? "") + (document["newCircle"]?.boolean == true ? " (new)" : "")
      ),
      ("device", deviceText(document)),
    ])
    if let text = document["text"]?.string { notes.paragraph(printable(text), .careful) }
    if let kept = document["keptAt"]?.string {
      let isReadable = document["keptBackup"]?.string != nil
      notes.paragraph(
        "The store that was here is in \(printable(kept))"
          + (isReadable ? "; store.waymark there can be restored in its turn." : "."))
    }
    if let missing = document["missing"]?.integer, missing > 0 {
      notes.paragraph(
        "\(counted(missing, "change set")) of the backup \(missing == 1 ? "is" : "are") damaged and missing here. waymark "
          + "status names what peers are asked for.", .careful)
    }
    if isPreview {
      return notes.paragraph("Nothing was changed. Next: \(waymark: "restore") without --preview")
    }
    if document["admitted"]?.boolean == false {
      notes.paragraph(
        "This device is not in the circle yet: what it holds can be read, not written.", .careful)
    }
    notes.paragraph("Next: \(printable(document["next"]?.string ?? "waymark run"))")
  }

  private func deviceText(_ document: JSON) -> String {
    guard document["newKeys"]?.boolean == true else { return document["device"]?.string ?? "" }
    return document["device"]?.string.map { "\($0) (new keys)" } ?? "new keys"
  }
}

/// `1.4 MB`
func byteText(_ bytes: Int64) -> String {
  let units = ["bytes", "kB", "MB", "GB", "TB"]
  var value = Double(bytes)
  var unit = 0
  while value >= 1_000, unit < units.count - 1 {
    value /= 1_000
    unit += 1
  }
  let tenths = Int64((value * 10).rounded())
  return unit == 0 ? "\(bytes) bytes" : "\(grouped(tenths / 10)).\(tenths % 10) \(units[unit])"
}
