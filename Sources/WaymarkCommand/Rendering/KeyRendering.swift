import JSONDocument
import Waymark

/// What `keys passphrase` has done.
extension Rendering {
  mutating func keys(_ document: JSON) {
    for key in document["keys"]?.array ?? [] {
      let state = key["sealed"]?.boolean == true ? "sealed" : "without a passphrase"
      let already = key["changed"]?.boolean == false ? " (it was so already)" : ""
      data.line(
        "\(printable(key["kind"]?.string ?? "")) key \(state)\(already): \(printable(key["file"]?.string ?? ""))"
      )
    }
    let copies = document["unsealedCopies"]?.array?.compactMap(\.string) ?? []
    guard !copies.isEmpty else { return }
    notes.paragraph(
      "Copies of keys that were set aside are not sealed. Seal them with --key, or remove them:")
    for copy in copies { notes.line("  \(printable(copy))") }
  }
}
