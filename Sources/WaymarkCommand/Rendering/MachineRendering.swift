import JSONDocument
import Waymark

/// Services, completions, the manual page.
extension Rendering {
  mutating func service(_ document: JSON, _ word: String) {
    let unit = printable(document["unit"]?.string ?? "")
    switch word {
    case "install":
      guard let file = document["written"]?.string else {
        return data.text(document["text"]?.string ?? "")
      }
      data.line("\(unit) is installed and runs, now and after every login.", .good)
      data.pairs([("file", printable(file)), ("log", document["log"]?.string ?? "")])
      if document["program"]?.string?.contains("/.build") == true {
        notes.paragraph(
          "The program lies in a build folder. After `make install`, install the service again from there.",
          .careful)
      }
      if document["lingers"]?.boolean == false {
        notes.paragraph("Next: loginctl enable-linger, to have it run also while nobody is logged in")
      }
    case "uninstall":
      let removed = document["removed"]?.string
      notes.paragraph(
        removed.map { "Removed \(printable($0)). The store and the keys are as they were." }
          ?? "There is no service of this home.")
    default: serviceStatus(document, unit)
    }
  }

  private mutating func serviceStatus(_ document: JSON, _ unit: String) {
    guard let file = document["file"]?.string else {
      let isRunning = document["running"]?.boolean == true
      data.line("no service · the node \(isRunning ? "runs all the same" : "does not run")")
      return notes.paragraph("Next: \(waymark: "service install")")
    }
    let active = document["active"]?.string ?? "unknown"
    let enabled = document["enabled"]?.string == "enabled" ? " · starts at every login" : ""
    data.line("\(unit)  \(printable(active))\(enabled)", active == "active" ? .good : .careful)
    var pairs = [("file", printable(file)), ("home", printable(document["home"]?.string ?? ""))]
    if let text = document["text"]?.string, !text.isEmpty { pairs.insert(("says", printable(text)), at: 0) }
    pairs.append(("log", document["log"]?.string ?? ""))
    data.pairs(pairs)
    if active != "active" { notes.paragraph("Next: \(document["next"]?.string ?? "")") }
  }
}
