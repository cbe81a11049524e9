import JSONDocument
import Waymark

/// Devices, tickets and sync.
extension Rendering {
  mutating func circle(_ document: JSON, _ words: [String]) {
    switch words.joined(separator: " ") {
    case "peers list": peers(document)
    case "init", "join": founded(document, words[0])
    case "invite": data.line(document["ticket"]?.string ?? "")
    case "wait": verdict(document)
    case "sync status", "sync on", "sync off", "sync now": sync(document)
    case "peers pause":
      notes.paragraph("Paused: nothing is exchanged with \(peerName(document)) any more.")
      notes.paragraph("Next: waymark peers resume \(shellWord(peerName(document))), when it should be again")
    case "peers resume": notes.paragraph("Data is exchanged with \(peerName(document)) again.")
    case "peers add": notes.paragraph("Dialled from now on: \(printable(document["address"]?.string ?? ""))")
    default: said(document)
    }
  }

  private func peerName(_ document: JSON) -> String { printable(document["name"]?.string ?? "the peer") }

  private mutating func founded(_ document: JSON, _ word: String) {
    let name = printable(document["name"]?.string ?? "")
    data.pairs([
      ("circle", document["circle"]?.string ?? ""), ("device", document["device"]?.string ?? ""),
      ("name", name),
    ])
    if document["wasMember"]?.boolean == true {
      return notes.paragraph(
        "This device (\(name)) has joined with this ticket already; nothing was done. Next: waymark status")
    }
    if let asked = document["askedName"]?.string, asked != document["name"]?.string {
      notes.paragraph(
        name.hasPrefix(printable(asked))
          ? "Another device is called “\(printable(asked))”, so this one is called “\(name)”."
          : "The circle knows this device as “\(name)” already.")
    }
    if let former = document["formerMember"]?["name"]?.string,
      let id = document["formerMember"]?["device"]?.string
    {
      notes.paragraph(
        "“\(printable(former))” stays in the circle with the keys from before. "
          + "To take it out: waymark revoke \(id.prefix(16)), on an admin device")
    }
    if let rewritten = document["rewritten"]?.integer, rewritten > 0 {
      notes.paragraph(
        "\(counted(rewritten, "record")) that the revocation had left out \(rewritten == 1 ? "is" : "are") written "
          + "again: waymark history")
    }
    if let aside = document["keysAside"]?.string {
      notes.paragraph(
        "The keys that were here without a store are in \(printable(aside)) now. With a backup of that store, and the "
          + "keys back in their place: waymark restore FILE")
    }
    notes.paragraph(
      word == "init"
        ? "Next: waymark service install, or waymark run in another terminal; then waymark invite, for your next device"
        : "Next: waymark service install, or waymark run")
  }

  private mutating func peers(_ document: JSON) {
    let peers = document["peers"]?.array ?? []
    guard !peers.isEmpty else { return notes.paragraph("No other device yet. Next: waymark invite") }
    data.table(peerTable(peers, showsPlaces: true))
    // What concerns several, or this device itself, is said once.
    for cause in document["reasons"]?.array ?? [] where cause["name"]?.string == nil {
      guard cause["consequences"]?.array?.isEmpty == false else { continue }
      let next = cause["next"]?.string.map { ": \(printable($0))" } ?? "."
      let text = printable(cause["text"]?.string ?? "")
      notes.paragraph(text.prefix(1).uppercased() + text.dropFirst() + next)
    }
  }

  /// `wait` prints nothing but the verdict.
  private mutating func verdict(_ document: JSON) {
    let text = document["text"]?.string ?? (document["inSync"]?.boolean == false ? "not in sync" : "in sync")
    data.line(printable(text))
  }

  private mutating func sync(_ document: JSON) {
    let isWanted = document["preference"]?.boolean == true
    let isActive = document["active"]?.boolean == true
    guard document["preference"] != nil else { return said(document) }
    if document["preview"]?.boolean == true { return preview(document) }
    let isExcluded = ["revoked", "not_a_member"].contains(document["reason"]?.string)
    var line = isWanted ? "sync on" : "sync off"
    if isExcluded {
      line += " · records stay on this device" + (reasonText(document).map { ": \($0)" } ?? "")
    } else if isWanted, !isActive {
      line += " · records stay on this device for now" + (reasonText(document).map { ": \($0)" } ?? "")
    } else if isActive {
      line += " · records sync with every device that has premium and sync on"
    } else {
      line += " · records stay on this device"
    }
    data.paragraph(line)
    if isWanted || isExcluded, let next = document["next"]?.string {
      notes.paragraph("Next: \(printable(next))")
    }
  }

  private func reasonText(_ document: JSON) -> String? {
    (document["text"]?.string ?? document["reason"]?.string).map { printable($0.replacing("_", with: " ")) }
  }

  /// What a command has to say that has no layout of its own.
  mutating func said(_ document: JSON) {
    said(document["text"]?.string, next: document["next"]?.string)
  }

  /// A sentence, and what to do next.
  mutating func said(_ text: String?, next: String?) {
    if let text { notes.paragraph(printable(text)) }
    if let next { notes.paragraph("Next: \(printable(next))") }
  }
}
