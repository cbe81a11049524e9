import Testing
import Wire

@testable import Transport

/// A link on which messages wait more than once.
@Suite struct RepeatedCongestionTests {
  private static let lowWater = 100

  private func message() -> [UInt8] { [UInt8](repeating: 1, count: 150) }

  /// Takes the ordinary messages. So much is unwritten that no part of a file is taken.
  private func takeOrdinary(_ outbox: inout Outbox) -> Int {
    outbox.take(unwritten: 2 * Limits.leafBytes, bytesMax: 1 << 20).count
  }

  @Test func `each class that was congested is told once that there is room, each time`() {
    var outbox = Outbox()
    for round in 1...2 {
      for sendClass in [SendClass.file, .ordinary] {
        outbox.append(message(), as: sendClass)
        let isCongested = outbox.isCongested(sendClass, unwritten: 0, lowWater: Self.lowWater)
        #expect(isCongested, "\(sendClass) in round \(round)")
      }
      let taken = takeOrdinary(&outbox)
      #expect(taken == 1 && outbox.fileBytes == 150)
      // Ordinary messages have room again, and parts of files have not.
      let ordinary = (1...2).map { _ in outbox.drained(unwritten: 0, lowWater: Self.lowWater) }
      #expect(ordinary == [true, false], "round \(round)")
      outbox.dropFiles()
      let files = (1...2).map { _ in outbox.drained(unwritten: 0, lowWater: Self.lowWater) }
      #expect(files == [true, false], "round \(round)")
      #expect(outbox.isEmpty && outbox.bytes == 0)
    }
  }

  @Test func `what was dropped counts for nothing afterwards`() {
    var outbox = Outbox()
    for sendClass in [SendClass.file, .ordinary] { outbox.append(message(), as: sendClass) }
    let wasCongested = outbox.isCongested(.ordinary, unwritten: 0, lowWater: Self.lowWater)
    #expect(wasCongested)
    outbox.removeAll()
    #expect(outbox.isEmpty && outbox.ordinaryBytes == 0 && outbox.fileBytes == 0)
    let isTold = outbox.drained(unwritten: 0, lowWater: Self.lowWater)
    #expect(!isTold, "nothing waits to be told")
    // A short message alone congests neither class.
    outbox.append([1], as: .ordinary)
    for sendClass in [SendClass.file, .ordinary] {
      let isCongested = outbox.isCongested(sendClass, unwritten: 0, lowWater: Self.lowWater)
      #expect(!isCongested, "\(sendClass)")
    }
    let taken = takeOrdinary(&outbox)
    #expect(taken == 1 && outbox.bytes == 0)
  }
}
