import FileFormat
import Replication
import Testing
import Vectors
import Wire

@Suite struct FileExchangeTests {
  private let world = FileWorld()
  private let leafBytes = Limits.leafBytes

  @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 200_000, 3_000_000])
  func `a file reaches the device that wants it`(size: Int) throws {
    let (alice, bob) = (world.node(), world.node())
    let file = alice.add(content(size))
    world.connect(alice, bob)
    world.want(bob, [file])
    try world.run()
    #expect(bob.files[file] == content(size))
    #expect(bob.requestedLeaves[file, default: []] == Array(0..<file.leafCount))
    #expect(alice.held[bob.device] == [file: true])
    #expect(bob.misbehaved.isEmpty && alice.misbehaved.isEmpty && bob.unresponsive == 0)
  }

  @Test func `a file that is wanted before the devices connect arrives too`() throws {
    let (alice, bob) = (world.node(), world.node())
    let files = (0..<5).map { alice.add(content(100_000, $0)) }
    world.want(bob, files)
    world.connect(bob, alice)
    try world.run()
    #expect(bob.files.count == 5)
  }

  @Test func `a file that no record names is neither listed nor sent`() throws {
    let (alice, bob) = (world.node(), world.node())
    let file = alice.add(content(100_000))
    alice.named = []
    let link = world.connect(bob, alice)
    world.want(bob, [file])
    try world.run()
    #expect(alice.sent == [.filesHere(FilesHere(role: .answer, keepsAll: true, files: []))])
    // The same if it is requested without a question.
    world.input(
      alice,
      .received(
        try #require(bob.links[link]).link,
        .wantLeaves(
          LeafRequest(file: file, part: .list, leaves: 0..<2))))
    try world.run()
    #expect(alice.sent.last == .noSuchFile(file))
    #expect(bob.files.isEmpty)
  }

  @Test func `a file that is passed on is announced, and fetched from the device between`() throws {
    let (alice, bob, carol) = (world.node(), world.node(), world.node())
    let file = alice.add(content(300_000))
    world.connect(alice, bob)
    world.connect(bob, carol)
    world.want(carol, [file])
    try world.run()
    #expect(carol.files.isEmpty)
    world.want(bob, [file])
    try world.run()
    #expect(bob.files[file] != nil)
    #expect(carol.files[file] == content(300_000))
  }

  @Test func `an announcement that arrives before its record is remembered`() throws {
    let (alice, bob) = (world.node(), world.node())
    world.connect(alice, bob)
    let file = alice.add(content(1_000))
    world.input(alice, .added([file]))
    try world.run()
    bob.forgetSent()
    world.want(bob, [file])
    try world.run()
    #expect(bob.files[file] != nil)
    #expect(bob.sent.first == .wantLeaves(LeafRequest(file: file, part: .bytes, leaves: 0..<1)))
  }

  @Test func `what a device announced is reported again once a record names it`() throws {
    let (alice, bob) = (world.node(), world.node())
    world.connect(alice, bob)
    let file = alice.add(content(1_000))
    world.input(alice, .added([file]))
    try world.run()
    // The store keeps nothing about files that no record names.
    bob.forgetHeld()
    world.want(bob, [file])
    #expect(bob.held[alice.device] == [file: true])
  }

  @Test func `a wanted file is fetched, however many others its source names meanwhile`() throws {
    let (alice, bob) = (world.node(), world.node())
    let link = world.connect(bob, alice)
    let early = (0..<3).map { alice.add(content(300_000, $0)) }
    world.input(alice, .added(early))
    try world.run()
    world.input(bob, .room(false))
    world.want(bob, Array(early.prefix(2)))
    for first in 0..<UInt64(Limits.filesKnownMax / Limits.filesPerMessageMax) {
      let others = (0..<UInt64(Limits.filesPerMessageMax)).compactMap { number in
        FileReference(size: 20, id: FileID(Bytes32(1, 2, first, number)))
      }
      let here = FilesHere(role: .announcement, keepsAll: true, files: others.sorted())
      world.input(bob, .received(link, .filesHere(here)))
    }
    world.input(bob, .room(true))
    try world.run()
    #expect(early.map { bob.files[$0] != nil } == [true, true, false])
    // A file that was forgotten is asked about when it is wanted.
    bob.forgetSent()
    world.want(bob, [early[2]])
    try world.run()
    #expect(bob.sent.first == .filesHere(.question([early[2]])))
    #expect(bob.files[early[2]] != nil)
  }

  // MARK: Several sources

  @Test func `each range is requested from one of several devices`() throws {
    let (alice, bob, carol) = (world.node(), world.node(), world.node())
    let file = alice.add(content(50 * leafBytes))
    bob.add(content(50 * leafBytes))
    world.connect(alice, carol)
    world.connect(bob, carol)
    world.want(carol, [file])
    try world.run()
    #expect(carol.files[file] != nil)
    #expect(carol.requestedLeaves[file]?.sorted() == Array(0..<50))
    for source in [alice, bob] {
      let leaves = source.sent.count { if case .leafBytes = $0 { true } else { false } }
      #expect(leaves >= 10)
    }
  }

  @Test func `if a device goes in the middle, another one sends the rest and nothing twice`() throws {
    let (alice, bob, carol) = (world.node(), world.node(), world.node())
    let file = alice.add(content(40 * leafBytes))
    let link = world.connect(carol, alice)
    world.want(carol, [file])
    while (carol.parts[file]?.leaves.count ?? 0) < 11 { try world.step() }
    let arrived = try #require(carol.parts[file]).leaves
    world.end(link, of: carol)
    #expect(carol.suspended == [file])
    carol.forgetSent()
    bob.add(content(40 * leafBytes))
    world.connect(bob, carol)
    try world.run()
    #expect(carol.files[file] == content(40 * leafBytes))
    #expect(carol.requestedLeaves[file]?.sorted() == (0..<40).filter { !arrived.contains($0) })
  }

  @Test func `if a device goes before it has sent the list, another one is asked for it`() throws {
    let (alice, bob, carol) = (world.node(), world.node(), world.node())
    let file = alice.add(content(40 * leafBytes))
    bob.add(content(40 * leafBytes))
    alice.lie = { message in if case .leafList = message { nil } else { message } }
    let link = world.connect(carol, alice)
    world.connect(carol, bob)
    world.want(carol, [file])
    while carol.sent.allSatisfy({ if case .wantLeaves = $0 { false } else { true } }) { try world.step() }
    world.end(link, of: carol)
    try world.run()
    #expect(carol.files[file] == content(40 * leafBytes))
  }

  @Test func `after a restart only the missing leaves are requested`() throws {
    let (alice, bob) = (world.node(), world.node())
    let file = alice.add(content(20 * leafBytes))
    world.connect(alice, bob)
    world.want(bob, [file])
    while (bob.parts[file]?.leaves.count ?? 0) < 7 { try world.step() }
    world.endAll()
    let arrived = try #require(bob.parts[file]).leaves
    bob.exchange = FileExchange()
    bob.forgetSent()
    world.want(bob, [file])
    world.connect(alice, bob)
    try world.run()
    #expect(bob.files[file] != nil)
    #expect(bob.requestedLeaves[file]?.sorted() == (0..<20).filter { !arrived.contains($0) })
    let lists = bob.sent.count {
      if case .wantLeaves(let request) = $0 { request.part == .list } else { false }
    }
    #expect(lists == 0)
  }

  // MARK: Devices that do not follow the protocol

  @Test func `a device that sends a wrong leaf is disconnected and never asked for the file again`() throws {
    let (mallory, bob, carol) = (world.node(), world.node(), world.node())
    let file = mallory.add(content(10 * leafBytes))
    mallory.lie = { message in
      guard case .leafBytes(let leaf) = message, leaf.index == 3 else { return message }
      return .leafBytes(FileLeaf(leaf.file, leaf.index, leaf.bytes.map { $0 ^ 1 }[...]))
    }
    world.connect(mallory, carol)
    world.want(carol, [file])
    try world.run()
    #expect(carol.misbehaved == [mallory.device])
    #expect(carol.files.isEmpty)
    carol.forgetSent()
    let small = mallory.add(content(5))
    world.connect(mallory, carol)
    world.want(carol, [small])
    try world.run()
    #expect(carol.requestedLeaves[file] == nil)
    #expect(carol.files[small] != nil)
    bob.add(content(10 * leafBytes))
    world.connect(bob, carol)
    try world.run()
    #expect(carol.files[file] == content(10 * leafBytes))
    #expect(carol.requestedLeaves[file]?.contains(0) == false)
  }

  @Test func `wrong bytes of a file of one leaf are noticed without a list`() throws {
    let (mallory, bob) = (world.node(), world.node())
    let file = mallory.add(content(100))
    mallory.lie = { message in
      guard case .leafBytes(let leaf) = message else { return message }
      return .leafBytes(FileLeaf(leaf.file, leaf.index, leaf.bytes.map { $0 ^ 1 }[...]))
    }
    world.connect(mallory, bob)
    world.want(bob, [file])
    try world.run()
    #expect(bob.misbehaved == [mallory.device])
    #expect(bob.files.isEmpty)
  }

  @Test func `a wrong list is not stored, and the right one is fetched from another device`() throws {
    let (mallory, bob, carol) = (world.node(), world.node(), world.node())
    let file = mallory.add(content(10 * leafBytes))
    mallory.lie = { message in
      guard case .leafList(let file, let first, let hashes) = message else { return message }
      return .leafList(file, first: first, hashes.reversed())
    }
    world.connect(mallory, carol)
    world.want(carol, [file])
    try world.run()
    #expect(carol.misbehaved == [mallory.device])
    #expect(carol.parts.isEmpty)
    bob.add(content(10 * leafBytes))
    world.connect(bob, carol)
    try world.run()
    #expect(carol.files[file] != nil)
  }

  @Test(arguments: [0, 5, 9])
  func `a withheld leaf is fetched from another device`(index: Int) throws {
    let (mallory, bob, carol) = (world.node(), world.node(), world.node())
    let file = mallory.add(content(10 * leafBytes))
    mallory.lie = { message in
      guard case .leafBytes(let leaf) = message, leaf.index == index else { return message }
      return nil
    }
    world.connect(mallory, carol)
    world.want(carol, [file])
    try world.run(milliseconds: Limits.fileOverdueMilliseconds + 1)
    #expect(carol.files.isEmpty)
    #expect(carol.unresponsive > 0)
    #expect(carol.misbehaved.isEmpty)
    bob.add(content(10 * leafBytes))
    world.connect(bob, carol)
    try world.run()
    #expect(carol.files[file] != nil)
    #expect(bob.sent.count { if case .leafBytes = $0 { true } else { false } } < 10)
  }

  @Test(arguments: [1, 50], [false, true])
  func `a wrong leaf is fetched from another device that is connected too`(
    leaves: Int, isAfterGap: Bool
  ) throws {
    let (mallory, bob, carol) = (world.node(), world.node(), world.node())
    let content = content(leaves * leafBytes)
    let file = mallory.add(content)
    bob.add(content)
    mallory.lie = { message in
      guard case .leafBytes(let leaf) = message else { return message }
      if isAfterGap, leaf.index % 4 == 1 { return nil }
      guard leaves == 1 || leaf.index % 4 == 2 else { return message }
      return .leafBytes(FileLeaf(leaf.file, leaf.index, leaf.bytes.map { $0 ^ 1 }[...]))
    }
    world.connect(mallory, carol)
    world.connect(bob, carol)
    world.want(carol, [file])
    try world.run()
    #expect(carol.misbehaved == [mallory.device] || isAfterGap)
    #expect(carol.files[file] == content)
  }

  @Test func `leaves that a device leaves out are fetched from another one that is connected too`() throws {
    let (mallory, bob, carol) = (world.node(), world.node(), world.node())
    let file = mallory.add(content(50 * leafBytes))
    bob.add(content(50 * leafBytes))
    mallory.lie = { message in
      guard case .leafBytes(let leaf) = message, leaf.index % 4 == 1 else { return message }
      return nil
    }
    world.connect(mallory, carol)
    world.connect(bob, carol)
    world.want(carol, [file])
    try world.run()
    #expect(carol.unresponsive > 0)
    #expect(carol.files[file] == content(50 * leafBytes))
  }

  @Test func `a silent device is asked again after ten minutes`() throws {
    let (alice, bob) = (world.node(), world.node())
    let file = alice.add(content(100_000))
    var isSilent = true
    alice.lie = { message in
      if case .filesHere = message { return message }
      return isSilent ? nil : message
    }
    world.connect(alice, bob)
    world.want(bob, [file])
    try world.run(milliseconds: 60_000)
    #expect(bob.unresponsive == 1)
    #expect(bob.suspended == [file])
    isSilent = false
    try world.run(milliseconds: Limits.brokenPromiseMilliseconds)
    #expect(bob.files[file] != nil)
  }

  @Test func `a question that is not answered is asked again`() throws {
    let (alice, bob) = (world.node(), world.node())
    let files = (0..<3).map { alice.add(content(10, $0)) }
    var isFirst = true
    alice.lie = { message in
      guard case .filesHere = message, isFirst else { return message }
      isFirst = false
      return nil
    }
    world.connect(alice, bob)
    world.want(bob, [files[0]])
    try world.run()
    world.want(bob, Array(files[1...]))
    try world.run()
    #expect(bob.files.count == 3)
  }

  @Test func `a device with too many open requests is disconnected`() throws {
    let (alice, bob) = (world.node(), world.node())
    let file = alice.add(content(100_000))
    let link = world.connect(alice, bob)
    let request = FileMessage.wantLeaves(LeafRequest(file: file, part: .bytes, leaves: 0..<1))
    for _ in 0..<Limits.fileRequestsMax + Limits.fileSlicesMax {
      world.input(alice, .received(link, request))
    }
    #expect(alice.misbehaved.isEmpty)
    world.input(alice, .received(link, request))
    #expect(alice.misbehaved == [bob.device])
  }

  @Test func `what was not requested costs the sender points`() throws {
    let (alice, bob) = (world.node(), world.node())
    let link = world.connect(alice, bob)
    let file = reference(content(100_000))
    world.input(alice, .received(link, .noSuchFile(file)))
    world.input(alice, .received(link, .leafBytes(FileLeaf(file, 0, content(leafBytes)[...]))))
    world.input(alice, .received(link, .leafList(file, first: 0, [.zero])))
    world.input(alice, .received(link, .filesHere(FilesHere(role: .answer, keepsAll: true, files: [file]))))
    #expect(alice.points == 4)
    #expect(alice.files.isEmpty && alice.parts.isEmpty)
  }

  @Test func `a reference with a wrong size does not make an honest device look like a liar`() throws {
    let (alice, bob) = (world.node(), world.node())
    let file = alice.add(content(200_000))
    let wrongSize = try #require(FileReference(size: 190_000, id: file.id))
    alice.named.insert(wrongSize)
    world.connect(alice, bob)
    world.want(bob, [wrongSize, file])
    try world.run()
    #expect(bob.files[file] != nil)
    #expect(bob.misbehaved.isEmpty)
  }

  // MARK: Order and bounds

  @Test func `a small file overtakes a large one`() throws {
    let (alice, bob) = (world.node(), world.node())
    let large = alice.add(content(300 * leafBytes))
    world.connect(alice, bob)
    world.want(bob, [large])
    while (bob.parts[large]?.leaves.count ?? 0) < 30 { try world.step() }
    let small = alice.add(content(2 * leafBytes, 1))
    world.want(bob, [small])
    try world.run()
    #expect(bob.finished == [small, large])
  }

  @Test func `a file that a person waits for comes first`() throws {
    let (alice, bob) = (world.node(), world.node())
    let files = (1...10).map { alice.add(content(20 * leafBytes, $0)) }
    world.connect(alice, bob)
    world.want(bob, files)
    let last = try #require(files.max())
    world.want(bob, [last], isUrgent: true)
    try world.run()
    #expect(bob.finished.count == 10)
    #expect(bob.finished.first == last)
  }

  @Test func `no more leaves are requested than may be waiting for the disk`() throws {
    let (alice, bob) = (world.node(), world.node())
    let file = alice.add(content(400 * leafBytes))
    bob.writes = false
    let link = world.connect(bob, alice)
    world.want(bob, [file])
    while try world.step() {}
    #expect(bob.requestedLeaves[file]?.count ?? 0 <= Limits.leavesRequestedMax)
    #expect(alice.slicesMost <= Limits.fileSlicesMax)
    let written = bob.unwritten.count
    bob.writes = true
    world.input(bob, .written(link, leaves: written))
    try world.run()
    #expect(bob.files[file] != nil)
  }

  /// Returns the greatest number of leaves that were under way at the end of a file.
  private func leavesUnderWay(delay: Moment) throws -> Int {
    let (alice, bob) = (world.node(), world.node())
    let file = alice.add(content(600 * leafBytes))
    world.delay = delay
    world.connect(alice, bob)
    world.want(bob, [file])
    var most = 0
    while try world.step() {
      if bob.parts[file]?.leaves.count ?? 0 > 300 { most = max(most, bob.exchange.load.leaves) }
    }
    #expect(bob.files[file] != nil)
    return most
  }

  @Test func `as much is requested as keeps a device busy, so that little else waits in its queues`() throws {
    #expect(try leavesUnderWay(delay: 0) == Limits.leavesRequestedMax)
    // In 8 ms and the time of four leaves, six leaves arrive.
    #expect(try (4...20).contains(leavesUnderWay(delay: 4)))
  }

  @Test func `less is requested from a slow device`() throws {
    let (alice, bob) = (world.node(), world.node())
    let file = alice.add(content(60 * leafBytes))
    world.delay = 3_000
    world.connect(alice, bob)
    world.want(bob, [file])
    try world.run(milliseconds: 600_000)
    #expect(bob.files[file] != nil)
    #expect(bob.unresponsive == 0)
    let last = bob.sent.compactMap { if case .wantLeaves(let request) = $0 { request } else { nil } }.last
    #expect(last?.leaves.count ?? 9 <= 2)
  }

  @Test func `ten thousand small files arrive`() throws {
    let (alice, bob) = (world.node(), world.node())
    let files = (0..<10_000).map { alice.add(content(20, $0) + [UInt8($0 >> 8), UInt8($0 & 255)]) }
    world.connect(alice, bob)
    for start in stride(from: 0, to: files.count, by: 2_000) {
      world.want(bob, Array(files[start..<start + 2_000]))
      try world.run(milliseconds: 1_000)
    }
    #expect(bob.files.count == 10_000)
  }

  @Test func `a file that is no longer wanted is not fetched further`() throws {
    let (alice, bob) = (world.node(), world.node())
    let file = alice.add(content(100 * leafBytes))
    world.connect(alice, bob)
    world.want(bob, [file])
    while (bob.parts[file]?.leaves.count ?? 0) < 10 { try world.step() }
    world.input(bob, .unwanted([file]))
    try world.run()
    #expect(bob.suspended == [file])
    #expect(bob.files.isEmpty)
    #expect(bob.requestedLeaves[file]?.count ?? 0 < 100)
  }

  @Test(arguments: ["unwanted", "failed"])
  func `late answers to abandoned requests do not look like gaps in the answers to newer ones`(
    _ reason: String
  ) throws {
    let (alice, bob) = (world.node(), world.node())
    let file = alice.add(content(100 * leafBytes))
    world.connect(alice, bob)
    world.want(bob, [file])
    while (bob.parts[file]?.leaves.count ?? 0) < 10 { try world.step() }
    world.input(bob, reason == "failed" ? .failed([file]) : .unwanted([file]))
    world.want(bob, [file])
    try world.run()
    #expect(bob.files[file] == alice.files[file])
    #expect(bob.unresponsive == 0 && bob.misbehaved == [])
  }

  @Test func `nothing is requested while the disk is full`() throws {
    let (alice, bob) = (world.node(), world.node())
    let file = alice.add(content(100))
    world.connect(alice, bob)
    world.input(bob, .room(false))
    world.want(bob, [file])
    try world.run()
    #expect(bob.files.isEmpty && bob.requestedLeaves.isEmpty)
    world.input(bob, .room(true))
    try world.run()
    #expect(bob.files[file] != nil)
  }

  @Test func `a device that does not keep all files says so`() throws {
    let (alice, bob) = (world.node(), world.node())
    let file = alice.add(content(100))
    world.input(alice, .policy(keepsAll: false))
    world.connect(alice, bob)
    world.want(bob, [file])
    try world.run()
    #expect(bob.held[alice.device] == [file: false])
    #expect(alice.held[bob.device] == [file: true])
  }

  @Test func `a device that stops keeping all files tells its peers at once`() throws {
    let (alice, bob) = (world.node(), world.node())
    let file = alice.add(content(100))
    world.connect(alice, bob)
    world.want(bob, [file])
    try world.run()
    #expect(bob.held[alice.device] == [file: true])
    alice.forgetSent()
    world.input(alice, .policy(keepsAll: false))
    world.input(alice, .policy(keepsAll: false))
    #expect(alice.sent == [.filesHere(FilesHere(role: .announcement, keepsAll: false, files: []))])
    #expect(alice.reviews == 2)
    world.input(bob, .inquire([file], of: alice.device))
    try world.run()
    #expect(bob.held[alice.device] == [file: false])
  }

  @Test func `a device that requests a file is not relied on to have it`() throws {
    let (alice, bob) = (world.node(), world.node())
    let file = alice.add(content(200_000))
    bob.add(content(200_000))
    world.input(alice, .policy(keepsAll: false))
    world.connect(alice, bob)
    world.input(alice, .inquire([file], of: nil))
    try world.run()
    #expect(alice.held[bob.device] == [file: true])
    // Bob has lost the file, and fetches it again.
    bob.files[file] = nil
    alice.lie = { if case .leafList = $0 { nil } else { $0 } }
    world.want(bob, [file])
    try world.run()
    #expect(alice.held[bob.device] == [:])
  }

  @Test func `a device is asked again about a file that it is known to have`() throws {
    let (alice, bob, carol) = (world.node(), world.node(), world.node())
    let file = alice.add(content(100))
    world.connect(alice, bob)
    world.connect(carol, bob)
    world.want(bob, [file])
    try world.run()
    alice.files[file] = nil
    bob.forgetSent()
    world.input(bob, .inquire([file], of: alice.device))
    try world.run()
    #expect(bob.held[alice.device] == [:])
    #expect(bob.sent == [.filesHere(.question([file]))])
  }

  @Test func `a file that is gone before it was announced is not announced`() throws {
    let (alice, bob) = (world.node(), world.node())
    world.connect(alice, bob)
    try world.run()
    let (gone, kept) = (alice.add(content(100)), alice.add(content(200)))
    alice.forgetSent()
    world.input(alice, .added([gone, kept]))
    world.input(alice, .unwanted([gone]))
    world.fireTimers(within: Limits.fileAnnouncementMilliseconds)
    try world.run()
    #expect(alice.sent == [.filesHere(FilesHere(role: .announcement, keepsAll: true, files: [kept]))])
  }

  @Test func `a reference to no bytes with the id of another file is never wanted`() throws {
    let bob = world.node()
    let empty = try #require(FileReference(size: 0, id: reference(content(200_000)).id))
    world.want(bob, [empty])
    try world.run()
    #expect(bob.exchange.progress(of: empty) == nil && bob.files.isEmpty)
  }

  @Test func `a wanted file can arrive until all peers have said that they do not have it`() throws {
    let (alice, bob) = (world.node(), world.node())
    let file = reference(content(200_000))
    #expect(!bob.exchange.isExpecting)
    world.want(bob, [file])
    #expect(!bob.exchange.mayArrive(file) && !bob.exchange.isExpecting)
    world.connect(alice, bob)
    #expect(bob.exchange.mayArrive(file) && bob.exchange.isExpecting)
    try world.run()
    #expect(!bob.exchange.mayArrive(file) && !bob.exchange.isExpecting)
    alice.add(content(200_000))
    world.input(alice, .added([file]))
    world.fireTimers(within: Limits.fileAnnouncementMilliseconds)
    while bob.parts[file] == nil, try world.step() {}
    #expect(bob.parts[file] != nil && bob.exchange.mayArrive(file))
    #expect(bob.exchange.progress(of: file)?.sources == [alice.device])
    try world.run()
    #expect(bob.files[file] != nil && !bob.exchange.isExpecting)
  }

  @Test(arguments: 0..<40)
  func `whatever connections break, every device ends up with every file`(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    let nodes = (0..<3).map { _ in world.node() }
    var all: [FileReference] = []
    for index in 0..<6 {
      let size = random.below(2) == 0 ? random.below(3 * leafBytes) : random.below(40 * leafBytes)
      all.append(nodes[random.below(3)].add(content(size, index)))
    }
    for node in nodes { world.want(node, all.filter { node.files[$0] == nil }) }
    for _ in 0..<30 {
      let (first, second) = (nodes[random.below(3)], nodes[random.below(3)])
      if first !== second, !first.links.values.contains(where: { $0.peer === second }) {
        world.connect(first, second)
      }
      for _ in 0..<random.below(60) { try world.step() }
      if random.below(3) == 0, let link = first.links.keys.sorted().first { world.end(link, of: first) }
      if random.below(8) == 0 {
        for link in first.links.keys.sorted() { world.end(link, of: first) }
        first.exchange = FileExchange()
        world.want(first, all.filter { first.files[$0] == nil })
      }
    }
    world.endAll()
    world.connect(nodes[0], nodes[1])
    world.connect(nodes[1], nodes[2])
    try world.run()
    for node in nodes {
      #expect(Set(node.files.keys) == Set(all))
      #expect(node.misbehaved.isEmpty && node.unresponsive == 0)
    }
  }
}

@Suite struct FileMessageTests {
  private struct Document: Decodable {
    struct Case: Decodable {
      let flag: String
      let name: String
      let bytes: String
    }

    let messages: [Case]
  }

  @Test func `messages about files are accepted or refused as the vectors say`() throws {
    for vector in try vectors("files.json", as: Document.self).messages {
      let bytes = try expand(vector.bytes)
      let message = try? Message(decoding: bytes)
      #expect((message != nil) == (vector.flag == "none"), "\(vector.name)")
      if let message {
        #expect(message.encoded == bytes, "\(vector.name)")
        #expect(bytes.count <= 66_560, "\(vector.name)")
      }
    }
  }
}
