// Protocol/files.md, "Requests"

import FileFormat
import Wire

/// The files that this device wants, and how far each has come.
struct WantedFiles: Sendable {
  private var files: [FileReference: WantedFile] = [:]
  /// The files that are beyond `waiting`, in the order in which they left it.
  private(set) var active: [FileReference] = []
  /// Those of them of which something can be requested. They are looked through for each leaf that arrives.
  private(set) var requestable: Set<FileReference> = []
  /// The number of leaves of all active files. Bounds the memory for their lists.
  private var activeLeaves = 0

  var count: Int { files.count }

  /// The size of all wanted files together.
  var bytes: Int { files.keys.reduce(0) { $0 + $1.size } }

  /// All wanted files, the urgent and small ones first.
  var inOrder: [FileReference] { files.keys.sorted(by: comesFirst) }

  func contains(where isMet: (FileReference) -> Bool) -> Bool { files.keys.contains(where: isMet) }

  subscript(_ file: FileReference) -> WantedFile? {
    _read { yield files[file] }
    _modify {
      defer { noteState(of: file) }
      yield &files[file]
    }
  }

  /// Whether a file is requested before another one, if both are waiting.
  func comesFirst(_ left: FileReference, _ right: FileReference) -> Bool {
    let (isLeftUrgent, isRightUrgent) = (files[left]?.isUrgent ?? false, files[right]?.isUrgent ?? false)
    if isLeftUrgent != isRightUrgent { return isLeftUrgent }
    return left.size != right.size ? left.size < right.size : left < right
  }

  /// Adds files, or makes them urgent.
  ///
  /// - Returns: the files that were not wanted before.
  mutating func add(_ given: [FileReference], isUrgent: Bool) -> [FileReference] {
    var new: [FileReference] = []
    // A file without bytes is never requested, so nothing would verify its id.
    for file in given where file.canExist {
      if files[file] != nil {
        if isUrgent { files[file]?.isUrgent = true }
      } else if files.count < Limits.filesWantedMax || isUrgent {
        files[file] = WantedFile(isUrgent: isUrgent)
        new.append(file)
      }
    }
    return new
  }

  private mutating func noteState(of file: FileReference) {
    if files[file]?.isRequestable == true { requestable.insert(file) } else { requestable.remove(file) }
  }

  mutating func remove(_ file: FileReference) {
    deactivate(file)
    files[file] = nil
  }

  /// Whether another file of this size may become active.
  func hasRoom(for file: FileReference) -> Bool {
    active.count < Limits.filesActiveMax && activeLeaves + file.leafCount <= Limits.activeLeavesMax
  }

  mutating func activate(_ file: FileReference, _ state: WantedFile.State) {
    active.append(file)
    activeLeaves += file.leafCount
    self[file]?.state = state
  }

  /// Returns a file to `waiting`, or ends its activity because it is removed.
  mutating func deactivate(_ file: FileReference) {
    guard let index = active.firstIndex(of: file) else { return }
    active.remove(at: index)
    activeLeaves -= file.leafCount
    self[file]?.state = .waiting
  }

  /// Ends the activity of a file of which all leaves have been written.
  mutating func finish(_ file: FileReference) {
    deactivate(file)
    files[file]?.state = .finishing
  }
}

/// A file that this device wants.
struct WantedFile: Sendable {
  enum State: Sendable {
    /// Nothing is under way.
    case waiting
    /// The shell reads what is stored of the file.
    case opening
    /// The list is being fetched.
    case listing(LeafListing)
    /// The leaves are being fetched.
    case fetching(LeafFetch)
    /// All leaves are written; the shell makes the file durable.
    case finishing
  }

  var isUrgent: Bool
  var state = State.waiting

  init(isUrgent: Bool) { self.isUrgent = isUrgent }

  /// Whether its list, or some of its leaves, can be requested now.
  var isRequestable: Bool {
    switch state {
    case .listing(let listing): listing.source == nil
    case .fetching(let fetch): !fetch.isRequested
    case .waiting, .opening, .finishing: false
    }
  }

  var isWaiting: Bool { if case .waiting = state { true } else { false } }
  var isActive: Bool {
    switch state {
    case .waiting, .finishing: false
    case .opening, .listing, .fetching: true
    }
  }

  /// The state of the transfer of the leaves; nil in other states, so that calls on it do nothing.
  var fetch: LeafFetch? {
    get { if case .fetching(let fetch) = state { fetch } else { nil } }
    // Yields in place, because copying two sets of leaves for each leaf would be slow.
    _modify {
      var fetch = fetch
      let old = fetch == nil ? state : .waiting
      state = .waiting
      defer { state = fetch.map { .fetching($0) } ?? old }
      yield &fetch
    }
  }

  var listing: LeafListing? { if case .listing(let listing) = state { listing } else { nil } }
}

/// The transfer of a file's list.
struct LeafListing: Sendable {
  /// The peer from which the list was requested.
  var source: LinkID?
  /// The hashes that have arrived, not verified yet.
  var hashes: [Bytes32] = []
}

/// The transfer of a file's leaves.
struct LeafFetch: Sendable {
  /// Nil for a file of one leaf, which is verified against the id directly.
  let list: LeafList?
  /// The leaves that are verified and handed to the shell.
  private(set) var here: LeafSet
  /// These leaves, and those that were requested.
  private var taken: LeafSet

  init(_ file: FileReference, list: LeafList?, here: LeafSet? = nil) {
    self.list = list
    self.here = here ?? LeafSet(leafCount: file.leafCount)
    taken = self.here
  }

  var missingCount: Int { here.leafCount - here.count }
  var isRequested: Bool { taken.isComplete }

  /// Returns leaves that are missing and not requested from any peer.
  func next(countMax: Int) -> Range<Int>? { taken.missing(from: 0, countMax: countMax) }

  mutating func take(_ leaves: Range<Int>) { for index in leaves { taken.insert(index) } }

  /// Lets leaves be requested again, as far as they have not arrived.
  mutating func release(_ leaves: Range<Int>) {
    for index in leaves where !here.contains(index) { taken.remove(index) }
  }

  mutating func arrived(_ index: Int) {
    here.insert(index)
    taken.insert(index)
  }

  func verifies(_ leaf: FileLeaf) -> Bool {
    guard let list else { return LeafList(leaf.file, hashes: [leaf.hash]) != nil }
    return list.hashes[leaf.index] == leaf.hash
  }
}
