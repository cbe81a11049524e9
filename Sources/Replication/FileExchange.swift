// Protocol/files.md, "Exchange"

package import FileFormat
package import Wire

// The exchange of files with all connected peers.
//
// Fetching. Each wanted file is in one of these states. At most `filesActiveMax` files are beyond `waiting`, so that
// memory for leaf lists and the number of partial files are bounded.
//
//     waiting ──a peer has it──▶ opening ──part read──▶ listing ──list verified──▶ fetching ──all leaves──▶ finishing
//        │                                                                            ▲                        │
//        └── files of one leaf need no list ──────────────────────────────────────────┘         durable ──▶ (gone)
//
// A file whose last source is gone returns to `waiting`; what has arrived stays on disk. Leaves are requested from all
// peers that have the file, each range from one of them. Example with the laptop (L), which wants a file of 40 leaves,
// and two peers that have it:
//
//     L → nas     want leaves: list 0–39          listing(nas)
//     nas → L     leaf list 0–39                  verified: fetching
//     L → nas     bytes 0–7                       8 leaves may be requested at first
//     L → phone   bytes 8–15
//     nas → L     leaf 0, 1, …                    write each; request 16–…
//     phone ends                                  8–15, as far as missing, are requested from nas
//
// Serving. Requests wait in a queue for each peer. At most `fileSlicesMax` slices of it are in the shell's hands, which
// sends them after everything else on the link and reports each. So a slow peer holds back nothing but its own queue.
//
// A leaf is written to disk before another one may be requested in its place (`unwritten`). A slow disk therefore slows
// down the peers instead of filling the memory.

/// Fetches the files that records name from the peers that have them, and serves files to peers.
package struct FileExchange: Sendable {
  var wanted = WantedFiles()
  var peers: [LinkID: FilePeer] = [:]
  /// The devices that have sent wrong bytes, and for which files.
  var liars: [DeviceKey: Set<FileReference>] = [:]
  /// Whether this device keeps all files. Announced to peers.
  package private(set) var keepsAll = true
  /// False while the disk is full: nothing is requested.
  private var canKeep = true
  /// Files that have become complete and are not announced yet.
  private var news: [FileReference] = []
  /// Whether the next review comes sooner than usual, because a file could not be written.
  private var isRetryDue = false

  package init() {}

  /// Handles one event and appends the effects for the shell.
  package mutating func handle(_ input: FileInput, now: Now, into effects: inout [FileEffect]) {
    switch input {
    case .opened(let link, let device): opened(link, device, now, &effects)
    case .closed(let links): closed(links, now, &effects)
    case .received(let link, let message): received(link, message, now, &effects)
    case .wanted(let files, let isUrgent): want(files, isUrgent: isUrgent, now, &effects)
    case .unwanted(let files): forget(files, now, &effects)
    case .inquire(let files, let device):
      for link in links where device == nil || peers[link]?.device == device {
        inquire(files, link, isRepeated: true, now, &effects)
      }
    case .added(let files): announce(files, &effects)
    case .policy(let keepsAll): setPolicy(keepsAll: keepsAll, &effects)
    case .partRead(let file, let part): partRead(file, part, now, &effects)
    case .written(let link, let leaves): written(link, leaves, now, &effects)
    case .finished(let files): finished(files, now, &effects)
    case .failed(let files): failed(files, now, &effects)
    case .room(let canKeep):
      self.canKeep = canKeep
      requestAll(now, &effects)
    case .lookedUp(let link, let here): lookedUp(link, here, &effects)
    case .served(let link, let slice, let isSent): served(link, slice, isSent, &effects)
    case .timer(.overdue(let link)): overdue(link, now, &effects)
    case .timer(.announce): sendNews(&effects)
    case .timer(.review): review(&effects)
    }
  }

  /// The links in ascending order, because effects must never depend on the order of a dictionary.
  var links: [LinkID] { peers.keys.sorted() }

  private mutating func received(
    _ link: LinkID, _ message: FileMessage, _ now: Now, _ effects: inout [FileEffect]
  ) {
    guard peers[link] != nil else { return }
    switch message {
    case .wantLeaves(let request): receivedRequest(link, request, &effects)
    case .leafList(let file, let first, let hashes): receivedList(link, file, first, hashes, now, &effects)
    case .leafBytes(let leaf): receivedLeaf(link, leaf, now, &effects)
    case .filesHere(let here): receivedFilesHere(link, here, now, &effects)
    case .noSuchFile(let file): receivedNoSuchFile(link, file, now, &effects)
    }
  }

  // MARK: Peers

  private mutating func opened(
    _ link: LinkID, _ device: DeviceKey, _ now: Now, _ effects: inout [FileEffect]
  ) {
    peers[link] = FilePeer(device: device, now)
    inquire(wanted.inOrder, link, now, &effects)
  }

  /// Forgets all of the peers before anything is requested from others: none of these may be one of them.
  private mutating func closed(_ links: [LinkID], _ now: Now, _ effects: inout [FileEffect]) {
    let closed = links.compactMap { link in peers.removeValue(forKey: link).map { (link: link, peer: $0) } }
    for (link, peer) in closed { release(peer.requests, of: link, now, &effects) }
  }

  /// Closes the session with a peer that sent wrong bytes. Its device is never asked for the file again.
  mutating func closeLiar(
    _ link: LinkID, _ file: FileReference, _ what: String, _ now: Now, _ effects: inout [FileEffect]
  ) {
    guard let device = peers[link]?.device else { return }
    if liars[device, default: []].count <= Limits.filesRefusedMax { liars[device, default: []].insert(file) }
    effects.append(.misbehaved(link, what))
    closed([link], now, &effects)
  }

  /// Whether a file may be requested from a peer.
  func isSource(_ link: LinkID, _ file: FileReference) -> Bool {
    guard peers[link]?.mayBeAsked(for: file) == true else { return false }
    guard !liars.isEmpty, let device = peers[link]?.device, let refused = liars[device] else { return true }
    return !refused.contains(file) && refused.count <= Limits.filesRefusedMax
  }

  // MARK: Wanted files

  private mutating func want(
    _ files: [FileReference], isUrgent: Bool, _ now: Now, _ effects: inout [FileEffect]
  ) {
    let new = wanted.add(files, isUrgent: isUrgent)
    for file in new where file.leafCount == 0 {
      wanted[file]?.state = .finishing
      effects.append(.finish(file))
    }
    for link in links {
      recall(new, link, &effects)
      inquire(new, link, now, &effects)
      enqueue(files, link)
    }
    requestAll(now, &effects)
  }

  /// Reports again which files a peer has, now that records name them. Before, the shell stored nothing about them.
  private func recall(_ files: [FileReference], _ link: LinkID, _ effects: inout [FileEffect]) {
    guard let peer = peers[link] else { return }
    let known = files.filter(peer.knows)
    guard !known.isEmpty else { return }
    effects.append(.learned(peer.device, asked: known, held: known, keepsAll: peer.keepsAll))
  }

  private mutating func forget(_ files: [FileReference], _ now: Now, _ effects: inout [FileEffect]) {
    // A file that was deleted before it was announced must not be announced: peers would rely on the copy here.
    let forgotten = Set(files)
    news.removeAll { forgotten.contains($0) }
    for file in files {
      if wanted[file]?.isActive == true { effects.append(.suspend(file)) }
      wanted.remove(file)
      for link in links { peers[link]?.abandon(file) }
    }
    requestAll(now, &effects)
  }

  private mutating func finished(_ files: [FileReference], _ now: Now, _ effects: inout [FileEffect]) {
    for file in files {
      wanted.remove(file)
      for link in links { peers[link]?.forget(file) }
    }
    announce(files, &effects)
    refill(&effects)
    requestAll(now, &effects)
  }

  private mutating func failed(_ files: [FileReference], _ now: Now, _ effects: inout [FileEffect]) {
    for file in files {
      wanted.remove(file)
      for link in links { peers[link]?.abandon(file) }
    }
    if !isRetryDue {
      isRetryDue = true
      effects.append(.schedule(.review, after: Limits.fileRetryMilliseconds))
    }
    refill(&effects)
    requestAll(now, &effects)
  }

  private func refill(_ effects: inout [FileEffect]) {
    if wanted.count < Limits.filesWantedMax / 2 { effects.append(.refill) }
  }

  // MARK: Who has what

  /// Adds files to what a peer is asked about.
  ///
  /// - Parameter isRepeated: whether to ask also about files that the peer is known to have.
  private mutating func inquire(
    _ files: [FileReference], _ link: LinkID, isRepeated: Bool = false, _ now: Now,
    _ effects: inout [FileEffect]
  ) {
    guard var peer = peers.removeValue(forKey: link) else { return }
    peer.inquire(files, isRepeated: isRepeated)
    if let question = peer.nextQuestion(now) { effects.append(.send(link, .filesHere(.question(question)))) }
    peers[link] = peer
    scheduleOverdue(link, now, &effects)
  }

  private mutating func receivedFilesHere(
    _ link: LinkID, _ here: FilesHere, _ now: Now, _ effects: inout [FileEffect]
  ) {
    guard let device = peers[link]?.device else { return }
    switch here.role {
    case .question:
      effects.append(.charge(link, points: 1 + here.files.count / 16))
      guard peers[link]?.isLookingUp == false else { return }
      peers[link]?.isLookingUp = true
      return effects.append(.lookUp(link, here.files))
    case .answer:
      guard let asked = peers[link]?.answered() else { return effects.append(.charge(link, points: 1)) }
      peers[link]?.keepsAll = here.keepsAll
      let held = here.files.filter(Set(asked).contains)
      effects.append(.learned(device, asked: asked, held: held, keepsAll: here.keepsAll))
      learned(link, held)
      inquire([], link, now, &effects)
    case .announcement:
      effects.append(.charge(link, points: 1 + here.files.count / 16))
      peers[link]?.keepsAll = here.keepsAll
      effects.append(.learned(device, asked: here.files, held: here.files, keepsAll: here.keepsAll))
      for file in here.files { peers[link]?.avoidedUntil[file] = nil }
      learned(link, here.files)
    }
    request(link, now, &effects)
  }

  private mutating func learned(_ link: LinkID, _ files: [FileReference]) {
    guard var peer = peers.removeValue(forKey: link) else { return }
    peer.note(files) { wanted[$0] != nil }
    peers[link] = peer
    enqueue(files, link)
  }

  private mutating func lookedUp(
    _ link: LinkID, _ here: [FileReference], _ effects: inout [FileEffect]
  ) {
    guard peers[link]?.isLookingUp == true else { return }
    peers[link]?.isLookingUp = false
    effects.append(.send(link, .filesHere(FilesHere(role: .answer, keepsAll: keepsAll, files: here))))
  }

  private mutating func announce(_ files: [FileReference], _ effects: inout [FileEffect]) {
    guard !files.isEmpty else { return }
    if news.isEmpty { effects.append(.schedule(.announce, after: Limits.fileAnnouncementMilliseconds)) }
    news += files
    if news.count >= Limits.filesPerMessageMax { sendNews(&effects) }
  }

  private mutating func sendNews(_ effects: inout [FileEffect]) {
    while !news.isEmpty {
      let files = Array(news.prefix(Limits.filesPerMessageMax))
      news.removeFirst(files.count)
      let here = FilesHere(role: .announcement, keepsAll: keepsAll, files: files)
      for link in links { effects.append(.send(link, .filesHere(here))) }
    }
  }

  // MARK: Policy

  /// A peer must learn at once that this device no longer keeps all files. Otherwise it would count on the copies here.
  private mutating func setPolicy(keepsAll: Bool, _ effects: inout [FileEffect]) {
    if keepsAll != self.keepsAll {
      self.keepsAll = keepsAll
      let here = FilesHere(role: .announcement, keepsAll: keepsAll, files: [])
      for link in links { effects.append(.send(link, .filesHere(here))) }
    }
    review(&effects)
  }

  private mutating func review(_ effects: inout [FileEffect]) {
    isRetryDue = false
    effects += [.review, .schedule(.review, after: Limits.fileReviewMilliseconds)]
  }

  // MARK: Requests

  mutating func requestAll(_ now: Now, _ effects: inout [FileEffect]) {
    for link in links { request(link, now, &effects) }
  }

  /// Requests what the peer has and this device wants, as much as may be requested now.
  mutating func request(_ link: LinkID, _ now: Now, _ effects: inout [FileEffect]) {
    guard canKeep else { return }
    while let request = nextRequest(link, &effects) {
      peers[link]?.add(request, now)
      effects.append(.send(link, .wantLeaves(request)))
    }
    scheduleOverdue(link, now, &effects)
  }
}

// MARK: Interface

/// An event that the shell or the replica reports to the exchange of files.
package enum FileInput: Sendable {
  /// The records lane with a device has opened.
  case opened(LinkID, DeviceKey)
  /// The lane has closed on all of these links, or a link has ended.
  case closed([LinkID])
  case received(LinkID, FileMessage)
  /// Files that folded records name and that are not here, in any order, at most `filesWantedMax` together. Urgent ones
  /// are those that a person waits for.
  case wanted([FileReference], isUrgent: Bool)
  /// Files that no record names any more, that are not to be fetched any more, or that are not here any more.
  case unwanted([FileReference])
  /// Ask a device, or all peers if it is nil, whether they have these files and keep all files, to learn what would be
  /// lost with this disk and what may be dropped.
  case inquire([FileReference], of: DeviceKey?)
  /// Files were added here. Reported after the set that names them was committed.
  case added([FileReference])
  /// Whether this device keeps all files. Reported when the node begins to serve and when the keep policy changes.
  case policy(keepsAll: Bool)
  /// The shell carried out `FileEffect.readPart`. The part is nil if nothing of the file is stored.
  case partRead(FileReference, PartialFile?)
  /// The shell has written this many leaves that came from a link.
  case written(LinkID, leaves: Int)
  /// These files are complete and durable.
  case finished([FileReference])
  /// These files could not be written. They are given again with `wanted` when that makes sense.
  case failed([FileReference])
  /// Whether the disk has room for files.
  case room(Bool)
  /// The shell carried out `FileEffect.lookUp`: a folded record names these of the files, and they are here.
  case lookedUp(LinkID, here: [FileReference])
  /// The shell carried out `FileEffect.serve`: the slice has left the queue of the link, or it could not be sent,
  /// because the peer may not have it or because it is not here or damaged.
  case served(LinkID, FileSlice, isSent: Bool)
  case timer(FileTimer)
}

/// An action for the shell. Effects are carried out in order.
package enum FileEffect: Sendable {
  /// Send a message in the usual order of the link.
  case send(LinkID, FileMessage)
  /// Send part of a file once nothing else waits on the link, if a folded record names the file. Answer with `served`.
  case serve(LinkID, FileSlice)
  /// Find out which of these files are here and named by a folded record. Answer with `lookedUp`.
  case lookUp(LinkID, [FileReference])
  /// Read what is stored of a file that has arrived in part. Answer with `partRead`.
  case readPart(FileReference)
  /// Begin to store a file of which nothing is stored.
  case begin(LeafList)
  /// Store a verified leaf. Answer with `written`.
  case write(FileLeaf, from: LinkID)
  /// All leaves of the file have been given with `write`: make it durable. Answer with `finished` or `failed`.
  case finish(FileReference)
  /// Nothing more of the file arrives for now. Keep its part.
  case suspend(FileReference)
  /// A device has said which of these files it has, and whether it keeps all files.
  case learned(DeviceKey, asked: [FileReference], held: [FileReference], keepsAll: Bool)
  /// A device has shown that it lacks a file, whatever it said before.
  case lacks(DeviceKey, FileReference)
  /// More wanted files may be reported.
  case refill
  /// Drop files according to the keep policy, and find out who has those that stay.
  case review
  /// The peer's messages cost it points.
  case charge(LinkID, points: Int)
  /// The peer did not deliver what it has.
  case unresponsive(LinkID)
  /// The peer sent something that no correct node sends: close the session.
  case misbehaved(LinkID, String)
  /// Fire the timer after this many milliseconds. It replaces a pending timer with the same name.
  case schedule(FileTimer, after: Moment)
}

extension FileEffect {
  /// The answer of a shell that stores no files.
  package var answerWithoutFiles: FileInput? {
    switch self {
    case .lookUp(let link, _): .lookedUp(link, here: [])
    case .serve(let link, let slice): .served(link, slice, isSent: false)
    case .readPart(let file): .partRead(file, nil)
    case .finish(let file): .failed([file])
    case .send, .begin, .write, .suspend, .learned, .lacks, .refill, .review, .charge, .unresponsive,
      .misbehaved, .schedule:
      nil
    }
  }
}

/// The timers of the exchange. A stale timer that fires changes nothing.
package enum FileTimer: Hashable, Sendable {
  /// A request to a peer may be overdue.
  case overdue(LinkID)
  /// New files are due to be announced.
  case announce
  /// The keep policy is due to be applied again.
  case review
}

/// A part of a file that is sent in one message: one leaf, or a piece of the list.
package struct FileSlice: Hashable, Sendable {
  /// The request that it answers, counted in the session.
  package let request: Int
  package let file: FileReference
  package let part: FilePart
  package let leaves: Range<Int>
}
