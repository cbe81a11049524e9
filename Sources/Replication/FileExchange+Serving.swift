// Protocol/files.md, "Requests", "Order on a link"

import FileFormat

extension FileExchange {
  mutating func receivedRequest(_ link: LinkID, _ request: LeafRequest, _ effects: inout [FileEffect]) {
    var isAccepted = false
    peers[link]?.serve { isAccepted = $0.receive(request) }
    guard isAccepted else {
      return effects.append(.misbehaved(link, "more requests for files than may be open"))
    }
    // A peer that lost a file after it had said that it has it must not be relied on. Only a device that does not keep
    // all files relies on others.
    if !keepsAll, request.leaves.lowerBound == 0, let peer = peers[link] {
      effects.append(.learned(peer.device, asked: [request.file], held: [], keepsAll: peer.keepsAll))
    }
    serve(link, &effects)
  }

  mutating func served(
    _ link: LinkID, _ slice: FileSlice, _ isSent: Bool, _ effects: inout [FileEffect]
  ) {
    var isRefused = false
    peers[link]?.serve { isRefused = $0.served(slice, isSent: isSent) }
    if isRefused {
      effects.append(.send(link, .noSuchFile(slice.file)))
      effects.append(.charge(link, points: 1))
    }
    serve(link, &effects)
  }

  /// Hands slices to the shell as long as it may have more.
  private mutating func serve(_ link: LinkID, _ effects: inout [FileEffect]) {
    peers[link]?.serve { serving in
      while let slice = serving.next() { effects.append(.serve(link, slice)) }
    }
  }
}
