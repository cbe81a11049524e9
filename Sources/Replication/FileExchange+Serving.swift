// Protocol/files.md, "Requests", "Order on a link"

import FileFormat

extension FileExchange {
  mutating func receivedRequest(_ link: LinkID, _ request: LeafRequest, _ effects: inout [FileEffect]) {
    var isAccepted = false
    peers[link]?.serve { isAccepted = $0.receive(request) }
    guard isAccepted else {
      return effects.append(.misbehaved(link, "more requests for files than may be open"))
    }
    // The peer may have lost the file after it said that it has it. Only a device that does not keep all files relies on
    // what others said.
    if !keepsAll, request.leaves.lowerBound == 0, let device = peers[link]?.device {
      effects.append(.lacks(device, request.file))
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
