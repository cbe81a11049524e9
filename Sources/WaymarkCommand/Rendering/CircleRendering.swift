import JSONDocument
import Waymark

/// Devices, tickets and sync.
extension Rendering {
  mutating func circle(_ document: JSON, _ words: [String]) {
    switch words.joined(separator: " ") {
    case "init", "join": founded(document, words[0])
    case "invite": data.line(document["ticket"]?.string ?? "")
    default: said(document)
    }
  }

  private mutating func founded(_ document: JSON, _ word: String) {
    let name = printable(document["name"]?.string ?? "")
    data.pairs([
      ("circle", document["circle"]?.string ?? ""), ("device", document["device"]?.string ?? ""),
      ("name", name),
    ])
    if document["wasMember"]?.boolean == true {
      return notes.paragraph(
        "This device (\(name)) has joined with this ticket already; nothing was done. Next: \(waymark: "status")"
      )
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
          + "To take it out: \(waymark: "revoke \(id.prefix(16))", on: "an admin device")")
    }
    if let rewritten = document["rewritten"]?.integer, rewritten > 0 {
      notes.paragraph(
        "\(counted(rewritten, "record")) that the revocation had left out \(rewritten == 1 ? "is" : "are") written "
          + "again: \(waymark: "history")")
    }
    if let aside = document["keysAside"]?.string {
      notes.paragraph(
        "The keys that were here without a store are in \(printable(aside)) now. With a backup of that store, and the "
          + "keys back in their place: \(waymark: "restore FILE")")
    }
    notes.paragraph(
      word == "init"
        ? "Next: \(waymark: "service install"), or \(waymark: "run") in another terminal; then \(waymark: "invite"), for your next device"
        : "Next: \(waymark: "service install"), or \(waymark: "run")")
  }

  /// What a command has to say that has no layout of its own.
  mutating func said(_ document: JSON) {
    said(document["text"]?.string, next: document["next"]?.string.map { Step($0) })
  }

  /// A sentence, and what to do next.
  mutating func said(_ text: String?, next: Step?) {
    if let text { notes.paragraph(printable(text)) }
    notes.next(next)
  }
}
