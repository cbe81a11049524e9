import FileFormat
import Replication
import Testing
import Wire

/// What a device makes of the questions and answers of a peer about files, and how many files it wants.
@Suite struct FileAnswerTests {
  /// The exchange of a device that is connected with Bob.
  private final class Alice {
    var exchange = FileExchange()
    private let now = Now(wall: 1_000, steady: 1_000)
    let link = LinkID(1)
    let bob = DeviceKey(Bytes32(2, 0, 0, 0))

    init() { _ = after(.opened(link, bob)) }

    func after(_ input: FileInput) -> [FileEffect] {
      var effects: [FileEffect] = []
      exchange.handle(input, now: now, into: &effects)
      return effects
    }

    func afterBob(_ here: FilesHere) -> [FileEffect] { after(.received(link, .filesHere(here))) }
  }

  private func messages(_ effects: [FileEffect]) -> [FileMessage] {
    effects.compactMap { effect -> FileMessage? in
      if case .send(_, let message) = effect { message } else { nil }
    }
  }

  private func lookUps(_ effects: [FileEffect]) -> [[FileReference]] {
    effects.compactMap { effect -> [FileReference]? in
      if case .lookUp(_, let files) = effect { files } else { nil }
    }
  }

  private func files(_ numbers: Range<UInt64>) throws -> [FileReference] {
    try numbers.map { try #require(FileReference(size: 20, id: FileID(Bytes32(1, 0, 0, $0)))) }
  }

  @Test func `an answer counts only for the files that were asked about`() throws {
    let alice = Alice()
    let pair = try files(0..<2)
    let question = messages(alice.after(.wanted([pair[0]], isUrgent: false)))
    #expect(question == [.filesHere(.question([pair[0]]))])
    let effects = alice.afterBob(FilesHere(role: .answer, keepsAll: true, files: pair))
    var held: [[FileReference]] = []
    for case .learned(let device, let asked, let files, let keepsAll) in effects {
      #expect(device == alice.bob && asked == [pair[0]] && keepsAll)
      held.append(files)
    }
    #expect(held == [[pair[0]]])
    let request = LeafRequest(file: pair[0], part: .bytes, leaves: 0..<1)
    #expect(messages(effects) == [.wantLeaves(request)])
    // So Bob is asked about the other one before it is requested.
    let next = messages(alice.after(.wanted([pair[1]], isUrgent: false)))
    #expect(next == [.filesHere(.question([pair[1]]))])
  }

  @Test func `one question of a peer is looked up at a time, and each is answered once`() throws {
    let alice = Alice()
    let pair = try files(0..<2)
    #expect(lookUps(alice.afterBob(.question([pair[0]]))) == [[pair[0]]])
    #expect(lookUps(alice.afterBob(.question(pair))) == [])
    let answer = FileMessage.filesHere(FilesHere(role: .answer, keepsAll: true, files: [pair[0]]))
    #expect(messages(alice.after(.lookedUp(alice.link, here: [pair[0]]))) == [answer])
    #expect(messages(alice.after(.lookedUp(alice.link, here: [pair[0]]))) == [])
    #expect(lookUps(alice.afterBob(.question(pair))) == [pair])
  }

  @Test func `a file that a person waits for is wanted even if there is no room for others`() throws {
    let alice = Alice()
    let most = UInt64(Limits.filesWantedMax)
    let all = try files(0..<most + 2)
    _ = alice.after(.wanted(Array(all.prefix(Limits.filesWantedMax)), isUrgent: false))
    let (other, urgent) = (all[Limits.filesWantedMax], all[Limits.filesWantedMax + 1])
    _ = alice.after(.wanted([other], isUrgent: false))
    _ = alice.after(.wanted([urgent], isUrgent: true))
    let isWanted = [all[0], other, urgent].map { alice.exchange.progress(of: $0) != nil }
    #expect(isWanted == [true, false, true])
  }

  @Test func `more files are asked for once fewer than half of those that fit are wanted`() throws {
    let alice = Alice()
    let half = Limits.filesWantedMax / 2
    let all = try files(0..<UInt64(half) + 1)
    _ = alice.after(.wanted(all, isUrgent: false))
    func refills(_ input: FileInput) -> Int {
      alice.after(input).count { if case .refill = $0 { true } else { false } }
    }
    #expect(refills(.finished([all[0]])) == 0)
    #expect(refills(.finished([all[1]])) == 1)
    #expect(refills(.failed([all[2]])) == 1)
  }

  @Test func `a device that does not keep all files is not relied on for what it announced before`() throws {
    let world = FileWorld()
    let (alice, bob) = (world.node(), world.node())
    world.input(alice, .policy(keepsAll: false))
    world.connect(alice, bob)
    let file = alice.add(content(1_000))
    world.input(alice, .added([file]))
    try world.run()
    bob.forgetHeld()
    world.want(bob, [file])
    #expect(bob.held[alice.device] == [file: false])
  }
}
