// Protocol/files.md, "Exchange"

package import FileFormat
package import Wire

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
      case .serve, .lookUp, .readPart, .begin, .write, .finish, .suspend, .learned, .lacks, .refill,
        .review:
        effects.append(.file(action))
      }
    }
  }

  /// Returns how many bytes of a wanted file are known to be here, and the connected devices that it can be fetched from;
  /// nil if the file is not wanted.
  package func progress(of file: FileReference) -> (bytes: Int, sources: [DeviceKey])? {
    files.progress(of: file)
  }

  /// Whether a wanted file can arrive: it is on its way, a connected peer has it, or a peer has not said yet whether it
  /// does.
  package func mayArrive(_ file: FileReference) -> Bool { files.mayArrive(file) }

  /// Whether any wanted file can arrive.
  package var isExpectingFiles: Bool { files.isExpecting }

  /// The files that this device is fetching or waiting for, the urgent and small ones first.
  package var wantedFiles: [FileReference] { files.wanted.inOrder }

  /// The size of all wanted files together.
  package var wantedFileBytes: Int { files.wanted.bytes }

  /// How much is being transferred.
  package var fileLoad: FileLoad { files.load }

  package func isWanted(_ file: FileReference) -> Bool { files.wanted[file] != nil }
}
