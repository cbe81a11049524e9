import JSONDocument
import Waymark

/// The devices of the circle, and those that are out of it.
extension Rendering {
  mutating func members(_ document: JSON) {
    var table = TextTable([
      .init("NAME", widthMin: 12), .init("DEVICE"), .init("ROLE"), .init("LAST SEEN"),
      .init("STATE", widthMin: 24),
    ])
    table.wrapsLast = true
    for member in document["members"]?.array ?? [] {
      let isOwn = member["own"]?.boolean == true
      table.rows.append([
        .init(member["name"]?.string ?? "", isOwn ? .strong : .none),
        .init(shortID(member["device"]?.string)), .init(member["role"]?.string ?? ""),
        .init(isOwn ? "" : time.ago(member["lastSeen"]?.string)), memberState(member, isOwn: isOwn),
      ])
    }
    data.table(table)
  }

  private func memberState(_ member: JSON, isOwn: Bool) -> TextTable.Cell {
    guard member["revoked"]?.boolean == true else {
      return .init(isOwn ? "this device" : "member of the circle")
    }
    var parts = [isOwn ? "this device, revoked" : "revoked"]
    let by = (member["revocations"]?.array ?? []).map { revocation in
      "by \(revocation["byName"]?.string ?? "") \(time.ago(revocation["issued"]?.string))"
    }
    parts[0] += " " + by.joined(separator: ", ")
    let others = member["notHeard"]?.array?.compactMap { $0["name"]?.string } ?? []
    if !others.isEmpty { parts.append("not heard yet: \(others.joined(separator: ", "))") }
    return .init(parts.joined(separator: " · "), .bad)
  }

  /// What `revoke` did, or would do.
  mutating func revocation(_ document: JSON) {
    data.paragraph(printable(document["text"]?.string ?? ""))
    if document["done"]?.boolean != true {
      for line in document["notes"]?.array ?? [] { notes.paragraph(printable(line.string ?? ""), indent: 2) }
    }
    if let next = document["next"]?.string { notes.paragraph("Next: \(printable(next))") }
  }
}
