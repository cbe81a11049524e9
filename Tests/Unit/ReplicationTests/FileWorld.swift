import FileFormat
import Replication
import Wire

/// A device with files, and the shell of its `FileExchange`.
final class FileNode {
  let device: DeviceKey
  var exchange = FileExchange()
  /// The files that are complete.
  var files: [FileReference: [UInt8]] = [:]
  /// The files that have arrived in part.
  var parts: [FileReference: (list: LeafList, leaves: LeafSet, bytes: [UInt8])] = [:]
  /// The files that folded records name.
  var named: Set<FileReference> = []
  /// Changes or drops a message before it is sent.
  var lie: (FileMessage) -> FileMessage? = { $0 }
  /// Whether leaves that arrive are written at once.
  var writes = true

  fileprivate(set) var links: [LinkID: (peer: FileNode, link: LinkID)] = [:]
  fileprivate var outgoing: [LinkID: [FileMessage]] = [:]
  fileprivate var slices: [LinkID: [FileSlice]] = [:]
  fileprivate var timers: [FileTimer: Moment] = [:]
  /// What this node has sent, in order.
  private(set) var sent: [FileMessage] = []
  private(set) var misbehaved: [DeviceKey] = []
  private(set) var unresponsive = 0
  private(set) var points = 0
  private(set) var held: [DeviceKey: [FileReference: Bool]] = [:]
  /// Files in the order in which they became complete.
  private(set) var finished: [FileReference] = []
  private(set) var reviews = 0
  private(set) var suspended: [FileReference] = []
  /// The greatest number of slices that were in this shell's hands.
  private(set) var slicesMost = 0
  private(set) var unwritten: [LinkID] = []

  init(_ number: UInt64) { device = DeviceKey(Bytes32(number, 0, 0, 0)) }

  /// Gives the node a file that a record names.
  @discardableResult
  func add(_ bytes: [UInt8]) -> FileReference {
    let file = reference(bytes)
    files[file] = bytes
    named.insert(file)
    return file
  }

  var requestedLeaves: [FileReference: [Int]] {
    var leaves: [FileReference: [Int]] = [:]
    for case .wantLeaves(let request) in sent where request.part == .bytes {
      leaves[request.file, default: []] += request.leaves
    }
    return leaves
  }

  func forgetSent() { sent = [] }
  func forgetHeld() { held = [:] }

  fileprivate func perform(_ effect: FileEffect, _ world: FileWorld) {
    switch effect {
    case .send(let link, let message): send(message, on: link)
    case .serve(let link, let slice):
      slices[link, default: []].append(slice)
      slicesMost = max(slicesMost, slices[link]?.count ?? 0)
    case .lookUp(let link, let asked):
      world.input(self, .lookedUp(link, here: asked.filter { named.contains($0) && files[$0] != nil }))
    case .readPart(let file):
      let part = parts[file].map { PartialFile(list: $0.list, leaves: $0.leaves) }
      world.input(self, .partRead(file, part))
    case .begin(let list):
      let bytes = [UInt8](repeating: 0, count: list.reference.size)
      parts[list.reference] = (list, LeafSet(leafCount: list.reference.leafCount), bytes)
    case .write(let leaf, let link):
      if leaf.file.leafCount > 1 {
        parts[leaf.file]?.bytes.replaceSubrange(leaf.file.range(ofLeaf: leaf.index), with: leaf.bytes)
        parts[leaf.file]?.leaves.insert(leaf.index)
      } else if let list = FileHasher.list(of: Array(leaf.bytes)) {
        parts[leaf.file] = (list, LeafSet(leafCount: 1), Array(leaf.bytes))
      }
      if writes { world.input(self, .written(link, leaves: 1)) } else { unwritten.append(link) }
    case .finish(let file):
      let bytes = parts.removeValue(forKey: file)?.bytes ?? []
      precondition(reference(bytes) == file, "a file with wrong bytes was finished")
      files[file] = bytes
      finished.append(file)
      world.input(self, .finished([file]))
    case .suspend(let file): suspended.append(file)
    case .review: reviews += 1
    case .learned(let device, let asked, let held, let keepsAll):
      let held = Set(held)
      for file in asked { self.held[device, default: [:]][file] = held.contains(file) ? keepsAll : nil }
    case .lacks(let device, let file): held[device]?[file] = nil
    case .refill: break
    case .charge(_, let points): self.points += points
    case .unresponsive: unresponsive += 1
    case .misbehaved(let link, _):
      if let peer = links[link]?.peer { misbehaved.append(peer.device) }
      world.end(link, of: self)
    // It returns forever.
    case .schedule(.review, _): break
    case .schedule(let timer, let wait): timers[timer] = world.now + wait
    }
  }

  fileprivate func send(_ message: FileMessage, on link: LinkID) {
    guard links[link] != nil, let message = lie(message) else { return }
    sent.append(message)
    outgoing[link, default: []].append(message)
  }

  /// Sends a slice if the node has it and a record names it.
  fileprivate func send(_ slice: FileSlice, on link: LinkID) -> Bool {
    guard named.contains(slice.file), let bytes = files[slice.file] else { return false }
    switch slice.part {
    case .list:
      let hashes = Array((FileHasher.list(of: bytes)?.hashes ?? [])[slice.leaves])
      send(.leafList(slice.file, first: slice.leaves.lowerBound, hashes), on: link)
    case .bytes:
      for index in slice.leaves {
        send(.leafBytes(FileLeaf(slice.file, index, bytes[slice.file.range(ofLeaf: index)])), on: link)
      }
    }
    return true
  }
}

/// Nodes, the links between them, and time.
final class FileWorld {
  fileprivate(set) var now: Moment = 1_000
  private var nodes: [FileNode] = []
  private var lastLink: UInt64 = 0
  /// Time that a message takes.
  var delay: Moment = 0

  func node() -> FileNode {
    let node = FileNode(UInt64(nodes.count + 1))
    nodes.append(node)
    return node
  }

  /// Connects two nodes, and returns the link of the first one.
  @discardableResult
  func connect(_ first: FileNode, _ second: FileNode) -> LinkID {
    let (left, right) = (LinkID(lastLink + 1), LinkID(lastLink + 2))
    lastLink += 2
    first.links[left] = (second, right)
    second.links[right] = (first, left)
    input(first, .opened(left, second.device))
    input(second, .opened(right, first.device))
    return left
  }

  func end(_ link: LinkID, of node: FileNode) {
    guard let (peer, other) = node.links.removeValue(forKey: link) else { return }
    peer.links[other] = nil
    for (node, link) in [(node, link), (peer, other)] {
      (node.outgoing[link], node.slices[link]) = (nil, nil)
      input(node, .closed([link]))
    }
  }

  func endAll() {
    for node in nodes { for link in node.links.keys.sorted() { end(link, of: node) } }
  }

  /// Lets a node want files that a record names.
  func want(_ node: FileNode, _ files: [FileReference], isUrgent: Bool = false) {
    node.named.formUnion(files)
    input(node, .wanted(files, isUrgent: isUrgent))
  }

  func input(_ node: FileNode, _ input: FileInput) {
    var effects: [FileEffect] = []
    node.exchange.handle(input, now: Now(wall: now, steady: now), into: &effects)
    for effect in effects { node.perform(effect, self) }
  }

  /// Delivers the next message or slice of each link.
  ///
  /// - Returns: whether there was anything to deliver.
  @discardableResult
  func step() throws -> Bool {
    var isBusy = false
    for node in nodes {
      for link in node.links.keys.sorted() {
        guard let (peer, other) = node.links[link] else { continue }
        if node.outgoing[link]?.isEmpty ?? true, let slice = node.slices[link]?.first {
          node.slices[link]?.removeFirst()
          isBusy = true
          input(node, .served(link, slice, isSent: node.send(slice, on: link)))
        }
        guard node.outgoing[link]?.isEmpty == false, let message = node.outgoing[link]?.removeFirst() else {
          continue
        }
        isBusy = true
        now += delay
        // Through the encoding, as on a real link.
        guard case .file(let received) = try Message(decoding: Message.file(message).encoded) else {
          preconditionFailure("a message about files became another one")
        }
        input(peer, .received(other, received))
      }
    }
    return isBusy
  }

  /// Lets time pass and timers fire, without delivering anything.
  func fireTimers(within milliseconds: Moment) {
    now += milliseconds
    for node in nodes {
      for (timer, due) in node.timers where due <= now {
        node.timers[timer] = nil
        input(node, .timer(timer))
      }
    }
  }

  /// Delivers everything and lets timers fire, until nothing happens any more or the time is over.
  func run(milliseconds: Moment = 60_000) throws {
    let end = now + milliseconds
    while true {
      while try step() {}
      let due = nodes.flatMap { node in node.timers.map { (at: $0.value, node: node, timer: $0.key) } }
      guard let next = due.min(by: { $0.at < $1.at }), next.at <= end else { break }
      now = max(now, next.at)
      next.node.timers[next.timer] = nil
      input(next.node, .timer(next.timer))
    }
    now = max(now, end)
  }
}

func reference(_ bytes: [UInt8]) -> FileReference {
  guard let list = FileHasher.list(of: bytes) else { preconditionFailure("a file that is too large") }
  return list.reference
}

/// Bytes that differ from leaf to leaf.
func content(_ size: Int, _ seed: Int = 0) -> [UInt8] {
  var bytes: [UInt8] = []
  for index in 0..<(size + 4_095) / 4_096 {
    let byte = UInt8(truncatingIfNeeded: index &+ seed &* 31)
    bytes += [UInt8](repeating: byte, count: min(4_096, size - bytes.count))
  }
  return bytes
}
