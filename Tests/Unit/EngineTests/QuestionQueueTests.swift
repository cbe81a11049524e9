import Engine
import Replication
import Testing
import Wire

/// The questions that wait for one peer, after one of them was answered, was given up, or lost its connection.
@Suite struct QuestionQueueTests {
  private struct GivenUp: Error {}

  /// A queue of questions, each of which names a number.
  private actor Desk {
    private var questions = Questions()

    /// Asks a question, and returns the number of its reply.
    func ask(
      _ link: LinkID, _ number: UInt8, _ added: AsyncStream<UInt64>.Continuation
    ) async throws -> UInt64? {
      let reply = try await withCheckedThrowingContinuation {
        (continuation: CheckedContinuation<Reply, any Error>) in
        added.yield(questions.add(link, .records, .bucket(number, after: nil), continuation))
      }
      guard case .answer(let answer) = reply else { return nil }
      return answer.folded.word3
    }

    /// The number of the question to send next; nil if none is to be sent now.
    func next(_ link: LinkID) -> UInt8? { Self.number(questions.next(link)) }

    /// Delivers a reply with a number, and returns the number of the question to send next.
    func reply(_ link: LinkID, _ number: UInt64) -> UInt8? {
      let answer = Answer(
        lane: .records, folded: Bytes32(0, 0, 0, number), isDone: true, content: .heads([]))
      return Self.number(questions.end(link, .answer(answer)))
    }

    /// Gives up a question; returns false if it has ended.
    func giveUp(_ link: LinkID, _ id: UInt64) -> Bool {
      guard let pending = questions.remove(link, id) else { return false }
      pending.continuation.resume(throwing: GivenUp())
      return true
    }

    /// Gives up all questions of a link, and returns their number.
    func giveUpAll(_ link: LinkID) -> Int {
      let all = questions.removeAll(link)
      for pending in all { pending.continuation.resume(throwing: GivenUp()) }
      return all.count
    }

    private static func number(_ input: Input?) -> UInt8? {
      guard case .ask(_, _, .bucket(let number, _))? = input else { return nil }
      return number
    }
  }

  @Test func `a question that is given up delays no other, and its late reply is no answer to the next`()
    async throws
  {
    let (added, add) = AsyncStream<UInt64>.makeStream()
    var ids = added.makeAsyncIterator()
    let (desk, link) = (Desk(), LinkID(1))
    let first = Task { try await desk.ask(link, 1, add) }
    let firstID = try #require(await ids.next())
    let second = Task { try await desk.ask(link, 2, add) }
    let secondID = try #require(await ids.next())
    let third = Task { try await desk.ask(link, 3, add) }
    let thirdID = try #require(await ids.next())
    #expect(await desk.next(link) == 1)
    #expect(await desk.next(link) == nil, "one at a time")
    // A question that waits is given up, while the first one is still under way.
    #expect(await desk.giveUp(link, secondID))
    #expect(await desk.next(link) == nil)
    // The first one is given up as well, so that the next one can be sent.
    #expect(await desk.giveUp(link, firstID))
    #expect(await desk.next(link) == 3)
    // Its timer finds that a question has ended, and ends no other.
    let wasGivenUp = await desk.giveUp(link, firstID)
    #expect(!wasGivenUp)
    #expect(await desk.reply(link, 33) == nil)
    let isThirdPending = await desk.giveUp(link, thirdID)
    #expect(!isThirdPending)
    // A reply while nothing is under way ends no question; the one that waits is sent.
    let fourth = Task { try await desk.ask(link, 4, add) }
    let fourthID = try #require(await ids.next())
    #expect(Set([firstID, secondID, thirdID, fourthID]).count == 4, "each question has an id of its own")
    #expect(await desk.reply(link, 99) == 4)
    #expect(await desk.reply(link, 44) == nil)
    // Only when none is left may the test wait for all of them.
    #expect(await desk.giveUpAll(link) == 0)
    await #expect(throws: GivenUp.self) { try await first.value }
    await #expect(throws: GivenUp.self) { try await second.value }
    #expect(try await third.value == 33)
    #expect(try await fourth.value == 44)
  }

  @Test
  func `a link that has ended takes only its own questions with it, and a later link of its number is free`()
    async throws
  {
    let (added, add) = AsyncStream<UInt64>.makeStream()
    var ids = added.makeAsyncIterator()
    let (desk, link, otherLink) = (Desk(), LinkID(1), LinkID(2))
    let first = Task { try await desk.ask(link, 1, add) }
    _ = await ids.next()
    let second = Task { try await desk.ask(link, 2, add) }
    _ = await ids.next()
    let other = Task { try await desk.ask(otherLink, 3, add) }
    _ = await ids.next()
    #expect(await desk.next(link) == 1)
    #expect(await desk.next(otherLink) == 3, "each link has a question of its own under way")
    #expect(await desk.giveUpAll(link) == 2)
    #expect(await desk.giveUpAll(link) == 0)
    #expect(await desk.next(link) == nil)
    // The numbers of links begin again when a node serves again.
    let later = Task { try await desk.ask(link, 4, add) }
    _ = await ids.next()
    #expect(await desk.next(link) == 4)
    #expect(await desk.reply(otherLink, 30) == nil)
    #expect(await desk.reply(link, 40) == nil)
    // Only when none is left may the test wait for all of them.
    for link in [link, otherLink] { #expect(await desk.giveUpAll(link) == 0) }
    await #expect(throws: GivenUp.self) { try await first.value }
    await #expect(throws: GivenUp.self) { try await second.value }
    #expect(try await other.value == 30)
    #expect(try await later.value == 40)
  }
}
