import FileFormat
import Replication
import Testing
import Wire

/// Files that are announced, requested or refused a second time.
@Suite struct RepeatedTransferTests {
  private let world = FileWorld()
  private let leafBytes = Limits.leafBytes

  private func announcements(_ node: FileNode) -> [[FileReference]] {
    node.sent.compactMap { message -> [FileReference]? in
      guard case .filesHere(let here) = message, here.role == .announcement else { return nil }
      return here.files
    }
  }

  @Test func `a silent device that announces the file again is asked for it at once`() throws {
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
    isSilent = false
    world.input(alice, .added([file]))
    try world.run(milliseconds: 10_000)
    #expect(bob.files[file] == content(100_000))
  }

  @Test func `a device that has lost a file is asked again once it announces it, and is not to blame`() throws
  {
    let (bob, carol) = (world.node(), world.node())
    let file = carol.add(content(100_000))
    world.connect(bob, carol)
    world.input(bob, .room(false))
    world.want(bob, [file])
    try world.run()
    #expect(bob.held[carol.device] == [file: true])
    carol.files[file] = nil
    world.input(bob, .room(true))
    try world.run()
    #expect(carol.sent.last == .noSuchFile(file))
    #expect(bob.files.isEmpty && bob.unresponsive == 0 && bob.misbehaved.isEmpty)
    #expect(bob.suspended == [file])
    #expect(!bob.exchange.mayArrive(file) && !bob.exchange.isExpecting)
    carol.add(content(100_000))
    world.input(carol, .added([file]))
    try world.run()
    #expect(bob.files[file] == content(100_000))
  }

  @Test func `a refusal ends all requests for one file and none for another, and later ones are answered`()
    throws
  {
    let (alice, bob) = (world.node(), world.node())
    let bytes = content(2 * leafBytes, 1)
    let (refused, sent) = (alice.add(content(4 * leafBytes)), alice.add(bytes))
    alice.named = [sent]
    let link = world.connect(alice, bob)
    func request(_ file: FileReference, _ leaves: Range<Int>) {
      let request = LeafRequest(file: file, part: .bytes, leaves: leaves)
      world.input(alice, .received(link, .wantLeaves(request)))
    }
    request(refused, 0..<4)
    request(refused, 0..<4)
    request(sent, 0..<2)
    try world.run()
    let leaves = (0..<2).map { FileLeaf(sent, $0, bytes[sent.range(ofLeaf: $0)]) }
    let expected: [FileMessage] = [.noSuchFile(refused), .leafBytes(leaves[0]), .leafBytes(leaves[1])]
    #expect(alice.sent == expected)
    alice.forgetSent()
    alice.named = [sent, refused]
    request(refused, 2..<4)
    try world.run()
    #expect(alice.sent.count { if case .leafBytes = $0 { true } else { false } } == 2)
    alice.forgetSent()
    alice.named = [sent]
    request(refused, 0..<1)
    try world.run()
    #expect(alice.sent == [.noSuchFile(refused)])
  }

  @Test func `each announcement names what was added since the one before, and what the device keeps now`()
    throws
  {
    let (alice, bob) = (world.node(), world.node())
    world.connect(alice, bob)
    let files = (0..<3).map { alice.add(content(100, $0)) }
    for file in files.prefix(2) {
      world.input(alice, .added([file]))
      try world.run()
    }
    #expect(announcements(alice) == [[files[0]], [files[1]]])
    alice.forgetSent()
    world.input(alice, .policy(keepsAll: false))
    world.input(alice, .policy(keepsAll: true))
    world.input(alice, .added([files[2]]))
    try world.run()
    let expected: [FileMessage] = [
      .filesHere(FilesHere(role: .announcement, keepsAll: false, files: [])),
      .filesHere(FilesHere(role: .announcement, keepsAll: true, files: [])),
      .filesHere(FilesHere(role: .announcement, keepsAll: true, files: [files[2]])),
    ]
    #expect(alice.sent == expected)
  }

  @Test func `files that could not be written are tried again soon, also after the first time`() {
    var exchange = FileExchange()
    let file = reference(content(100))
    func reviews(after input: FileInput) -> [Moment] {
      var effects: [FileEffect] = []
      exchange.handle(input, now: Now(wall: 1_000, steady: 1_000), into: &effects)
      var waits: [Moment] = []
      for effect in effects {
        if case .schedule(let timer, let wait) = effect, timer == .review { waits.append(wait) }
      }
      return waits
    }
    for _ in 0..<2 {
      #expect(reviews(after: .failed([file])) == [Limits.fileRetryMilliseconds])
      #expect(reviews(after: .failed([file])) == [], "the review that is due soon is not put off")
      #expect(reviews(after: .timer(.review)) == [Limits.fileReviewMilliseconds])
    }
  }
}
