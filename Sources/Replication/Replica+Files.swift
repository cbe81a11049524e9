// Protocol/files.md, "Exchange"

package import FileFormat
import Wire

extension Replica {
  /// Ingress: drops messages about files while the records lane is closed.
  mutating func receivedFile(
    _ link: LinkID, _ message: FileMessage, _ now: Now, _ effects: inout [Effect]
  ) {
    judgeLanes(link, now, &effects)
    guard isOpen(link, .records), sessions[link]?.isClosing == false else { return }
    file(.received(link, message), now, &effects)
  }

  /// Hands an event to the exchange of files. Egress: before a part of a file may be sent, the lane is judged again.
  mutating func file(_ input: FileInput, _ now: Now, _ effects: inout [Effect]) {
    if case .served(let link, _, _) = input { judgeLanes(link, now, &effects) }
    var actions: [FileEffect] = []
    files.handle(input, now: now, into: &actions)
    for action in actions {
      switch action {
      case .send(let link, let message): effects.append(.send(link, .file(message)))
      case .charge(let link, let points): chargeRedundant(link, points: points, now, &effects)
      case .unresponsive(let link): markUnresponsive(link, now)
      case .misbehaved(let link, let what): drop(link, .misbehaved(what), &effects)
      case .schedule(let timer, let wait): effects.append(.schedule(.file(timer), after: wait))
      case .serve, .lookUp, .readPart, .begin, .write, .finish, .suspend, .learned, .refill:
        effects.append(.file(action))
      }
    }
  }

  /// Returns how many bytes of a wanted file are here and from how many peers it can be fetched; nil if the file is not
  /// wanted.
  package func progress(of file: FileReference) -> (bytes: Int, sources: Int)? { files.progress(of: file) }
}
