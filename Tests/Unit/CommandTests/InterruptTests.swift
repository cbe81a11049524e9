import Platform
import Testing

@testable import Console

/// What happens on a signal.
@Suite(.serialized) struct InterruptTests {
  @Test(.timeLimit(.minutes(1)))
  func `after a question that cleans up on a signal, the former handler gets the signal`() async throws {
    let (told, teller) = AsyncStream<Int32>.makeStream()
    Interrupts.handle([SIGHUP]) { teller.yield($0) }
    defer { signal(SIGHUP, SIG_DFL) }
    let answer = Interrupts.cleaningUp({ teller.yield(-1) }) { "yes" }
    #expect(answer == "yes")
    kill(getpid(), SIGHUP)
    var numbers = told.makeAsyncIterator()
    #expect(await numbers.next() == SIGHUP)
  }
}
