// Protocol/files.md, "Requests", "Verification"

package import FileFormat
package import Wire

extension FileExchange {
  // MARK: Choice

  /// Adds the wanted files that a peer has to its candidates.
  mutating func enqueue(_ files: [FileReference], _ link: LinkID) {
    let eligible = files.filter { wanted[$0]?.isWaiting == true && isSource(link, $0) }
    guard !eligible.isEmpty, var peer = peers.removeValue(forKey: link) else { return }
    peer.enqueue(eligible, comesFirst: wanted.comesFirst)
    peers[link] = peer
  }

  /// Returns the next request to a peer; nil if there is nothing to request, or if no more may be requested now. Begins
  /// files as long as there is room for more.
  mutating func nextRequest(_ link: LinkID, _ effects: inout [FileEffect]) -> LeafRequest? {
    while let room = peers[link]?.room, room > 0 {
      let begun = bestActive(link, room: room)
      let waiting = firstCandidate(link)
      if let begun, waiting.map({ !isMoreUrgent($0, than: begun) }) ?? true { return take(begun, link, room) }
      guard let waiting, wanted.hasRoom(for: waiting), begun != nil || isShortOfBegun(link, waiting) else {
        return begun.flatMap { take($0, link, room) }
      }
      if waiting.leafCount == 1 {
        wanted.activate(waiting, .fetching(LeafFetch(waiting, list: nil)))
      } else {
        wanted.activate(waiting, .opening)
        effects.append(.readPart(waiting))
      }
    }
    return nil
  }

  /// Whether to begin a waiting file although files that have begun only wait for more room. A few are begun ahead, so
  /// that their lists are here when it is their turn.
  private func isShortOfBegun(_ link: LinkID, _ waiting: FileReference) -> Bool {
    wanted[waiting]?.isUrgent == true || waiting.leafCount == 1
      || wanted.requestable.count { isSource(link, $0) } < Self.begunAheadMax
  }

  private static let begunAheadMax = 4

  private mutating func firstCandidate(_ link: LinkID) -> FileReference? {
    guard var peer = peers.removeValue(forKey: link) else { return nil }
    defer { peers[link] = peer }
    let refused = liars[peer.device]
    return peer.firstCandidate { wanted[$0]?.isWaiting == true && !(refused?.contains($0) ?? false) }
  }

  /// Whether a waiting file is to be requested before one that has begun.
  private func isMoreUrgent(_ waiting: FileReference, than begun: FileReference) -> Bool {
    let (first, second) = (wanted[waiting]?.isUrgent ?? false, wanted[begun]?.isUrgent ?? false)
    if first != second { return first }
    return waiting.leafCount < missingLeaves(begun)
  }

  private func missingLeaves(_ file: FileReference) -> Int {
    if let fetch = wanted[file]?.fetch { return fetch.missingCount }
    return file.leafCount
  }

  /// Returns the active file of which something may be requested from a peer now: an urgent one, or else the one of which
  /// the least is missing.
  private func bestActive(_ link: LinkID, room: Int) -> FileReference? {
    let window = peers[link]?.window ?? 0
    var best: (isCalm: Int, missing: Int, file: FileReference)?
    for file in wanted.requestable {
      guard let candidate = wanted[file], isSource(link, file) else { continue }
      let missing = missingLeaves(file)
      // Few large requests cost less than many small ones.
      let least = min(missing, max(window / 4, 1), Limits.leavesPerRequestMax)
      if candidate.fetch != nil, room < least { continue }
      let next = (candidate.isUrgent ? 0 : 1, missing, file)
      if best.map({ next < $0 }) ?? true { best = next }
    }
    return best?.file
  }

  /// Marks the next part of a file as requested from a peer.
  private mutating func take(_ file: FileReference, _ link: LinkID, _ room: Int) -> LeafRequest? {
    if wanted[file]?.listing != nil {
      wanted[file]?.state = .listing(LeafListing(source: link))
      return LeafRequest(file: file, part: .list, leaves: 0..<file.leafCount)
    }
    let countMax = min(room, Limits.leavesPerRequestMax)
    guard let leaves = wanted[file]?.fetch?.next(countMax: countMax) else { return nil }
    wanted[file]?.fetch?.take(leaves)
    return LeafRequest(file: file, part: .bytes, leaves: leaves)
  }

  // MARK: Parts on disk

  mutating func partRead(
    _ file: FileReference, _ part: PartialFile?, _ now: Now, _ effects: inout [FileEffect]
  ) {
    guard case .opening? = wanted[file]?.state else { return }
    if let part {
      wanted[file]?.state = .fetching(LeafFetch(file, list: part.list, here: part.leaves))
      finishIfComplete(file, &effects)
    } else {
      wanted[file]?.state = .listing(LeafListing(source: nil))
    }
    settle(file, now, &effects)
    requestAll(now, &effects)
  }

  mutating func written(_ link: LinkID, _ leaves: Int, _ now: Now, _ effects: inout [FileEffect]) {
    peers[link]?.written(leaves)
    request(link, now, &effects)
  }

  private mutating func finishIfComplete(_ file: FileReference, _ effects: inout [FileEffect]) {
    guard let fetch = wanted[file]?.fetch, fetch.missingCount == 0 else { return }
    wanted.finish(file)
    effects.append(.finish(file))
  }

  // MARK: What arrives

  mutating func receivedList(
    _ link: LinkID, _ file: FileReference, _ first: Int, _ hashes: [Bytes32], _ now: Now,
    _ effects: inout [FileEffect]
  ) {
    guard let (isRequested, isAwaited) = peers[link]?.arrived(file, first: first, count: hashes.count, now)
    else { return }
    guard isAwaited, var listing = wanted[file]?.listing, listing.source == link else {
      if !isRequested { effects.append(.charge(link, points: 1)) }
      return
    }
    listing.hashes += hashes
    guard listing.hashes.count == file.leafCount else {
      wanted[file]?.state = .listing(listing)
      return
    }
    guard let list = LeafList(file, hashes: listing.hashes) else {
      wanted[file]?.state = .listing(LeafListing(source: nil))
      return closeLiar(link, file, "a list that does not match its file", now, &effects)
    }
    wanted[file]?.state = .fetching(LeafFetch(file, list: list))
    effects.append(.begin(list))
    requestAll(now, &effects)
  }

  mutating func receivedLeaf(
    _ link: LinkID, _ leaf: FileLeaf, _ now: Now, _ effects: inout [FileEffect]
  ) {
    guard let (isRequested, skipped) = peers[link]?.arrived(leaf, now) else { return }
    guard let fetch = wanted[leaf.file]?.fetch, !fetch.here.contains(leaf.index) else {
      if !isRequested { effects.append(.charge(link, points: 1)) }
      if let skipped { return withheld(link, leaf.file, skipped, now, &effects) }
      return request(link, now, &effects)
    }
    guard fetch.verifies(leaf) else {
      if isRequested {
        // The request has advanced beyond this leaf, and it is still missing, like those left out before it.
        wanted[leaf.file]?.fetch?.release((skipped?.lowerBound ?? leaf.index)..<leaf.index + 1)
      }
      return closeLiar(link, leaf.file, "a leaf that does not match its file", now, &effects)
    }
    wanted[leaf.file]?.fetch?.arrived(leaf.index)
    peers[link]?.writing()
    effects.append(.write(leaf, from: link))
    finishIfComplete(leaf.file, &effects)
    if let skipped { withheld(link, leaf.file, skipped, now, &effects) }
    // More is requested once the leaf is written.
  }

  /// Handles leaves that a peer has left out of an answer.
  private mutating func withheld(
    _ link: LinkID, _ file: FileReference, _ leaves: Range<Int>, _ now: Now, _ effects: inout [FileEffect]
  ) {
    peers[link]?.avoid(file, now)
    effects.append(.unresponsive(link))
    wanted[file]?.fetch?.release(leaves)
    release(peers[link]?.abandon(file) ?? [], of: link, now, &effects)
    settle(file, now, &effects)
  }

  mutating func receivedNoSuchFile(
    _ link: LinkID, _ file: FileReference, _ now: Now, _ effects: inout [FileEffect]
  ) {
    guard var peer = peers.removeValue(forKey: link) else { return }
    let ended = peer.end(file)
    peer.forget(file)
    peers[link] = peer
    if ended == nil { effects.append(.charge(link, points: 1)) }
    release(ended ?? [], of: link, now, &effects)
    settle(file, now, &effects)
  }

  // MARK: Requests that end without an answer

  /// Lets others be asked for what was requested from a peer.
  mutating func release(
    _ requests: [OpenRequest], of link: LinkID, _ now: Now, _ effects: inout [FileEffect]
  ) {
    for request in requests {
      switch request.part {
      case .bytes: wanted[request.file]?.fetch?.release(request.rest)
      case .list:
        guard let listing = wanted[request.file]?.listing, listing.source == link else { continue }
        wanted[request.file]?.state = .listing(LeafListing(source: nil))
      }
    }
    // The peer may have been the last source of files of which nothing was requested just now.
    for file in wanted.active { settle(file, now, &effects) }
    requestAll(now, &effects)
  }

  /// Returns an active file to `waiting` if no peer has it any more, so that it does not keep others from being fetched.
  private mutating func settle(_ file: FileReference, _ now: Now, _ effects: inout [FileEffect]) {
    switch wanted[file]?.state {
    case .listing, .fetching: break
    // While the shell reads the part of a file, its answer is awaited.
    case .waiting, .opening, .finishing, nil: return
    }
    guard !links.contains(where: { isSource($0, file) }) else { return }
    wanted.deactivate(file)
    effects.append(.suspend(file))
  }

  mutating func scheduleOverdue(_ link: LinkID, _ now: Now, _ effects: inout [FileEffect]) {
    guard let peer = peers[link], !peer.isTimerPending, let due = peer.dueAt else { return }
    peers[link]?.isTimerPending = true
    effects.append(.schedule(.overdue(link), after: max(due - now.steady, 1)))
  }

  mutating func overdue(_ link: LinkID, _ now: Now, _ effects: inout [FileEffect]) {
    guard var peer = peers.removeValue(forKey: link) else { return }
    peer.isTimerPending = false
    let requests = peer.giveUp(now)
    let again = peer.endAvoiding(now)
    if let question = peer.nextQuestion(now) { effects.append(.send(link, .filesHere(.question(question)))) }
    peers[link] = peer
    enqueue(again, link)
    if !requests.isEmpty { effects.append(.unresponsive(link)) }
    release(requests, of: link, now, &effects)
    scheduleOverdue(link, now, &effects)
  }

  // MARK: Progress

  /// Returns how many bytes of a wanted file are known to be here, and the connected devices that it can be fetched from;
  /// nil if the file is not wanted.
  package func progress(of file: FileReference) -> (bytes: Int, sources: [DeviceKey])? {
    guard let state = wanted[file] else { return nil }
    let leaves = state.fetch?.here.count ?? 0
    let sources = links.filter { isSource($0, file) }.compactMap { peers[$0]?.device }
    return (min(leaves * Limits.leafBytes, file.size), Set(sources).sorted())
  }

  /// Whether a wanted file can arrive: it is on its way, a connected peer has it, or a peer has not said yet whether it
  /// does.
  package func mayArrive(_ file: FileReference) -> Bool {
    guard let state = wanted[file] else { return false }
    return !state.isWaiting || links.contains { isSource($0, file) || peers[$0]?.isAsked == true }
  }

  /// Whether any wanted file can arrive.
  package var isExpecting: Bool {
    guard wanted.count > 0 else { return false }
    return links.contains { peers[$0]?.isAsked == true } || wanted.contains(where: mayArrive)
  }
}

/// How much the exchange of files is fetching.
package struct FileLoad: Hashable, Sendable {
  /// The number of files beyond `waiting`.
  package let files: Int
  /// The largest numbers for one peer: leaves that were requested and are not written yet, and requests without a
  /// complete answer.
  package let leaves: Int
  package let requests: Int
}

extension FileExchange {
  package var load: FileLoad {
    FileLoad(
      files: wanted.active.count, leaves: peers.values.map(\.leavesUnderWay).max() ?? 0,
      requests: peers.values.map(\.requests.count).max() ?? 0)
  }
}
