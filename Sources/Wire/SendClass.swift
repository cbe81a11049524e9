/// The two classes of messages on a link. Ordinary messages overtake parts of files that wait to be sent
/// (`Protocol/files.md`, "Order on a link").
package enum SendClass: Sendable {
  case ordinary
  case file
}
