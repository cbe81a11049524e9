import Testing
import Vectors
import Wire

@testable import Replication

@Suite struct ClockTests {
  @Test func `a tick is above what was seen, at least the wall clock, and no higher than necessary`() {
    var random = SeededRandom(seed: 3)
    for _ in 0..<5_000 {
      let seen = Clock(raw: random.next() >> UInt64(random.below(40)) & (.max - 1))
      let wall = Int64(bitPattern: random.next()) >> Int64(16 + random.below(40))
      let clock = Clock.ticking(after: seen, wall: wall)
      #expect(clock > seen)
      #expect(clock >= Clock(milliseconds: wall))
      #expect(clock == seen.next || clock == Clock(milliseconds: wall))
    }
  }

  @Test func `clocks of several devices never decrease along causality`() {
    var random = SeededRandom(seed: 4)
    var clocks = [Clock.zero, .zero, .zero]
    for _ in 0..<3_000 {
      let (sender, receiver) = (random.below(3), random.below(3))
      // Each device's wall clock is off by its own amount and stops now and then.
      let wall = Int64(sender) * 90_000 + Int64(random.below(50))
      let sent = Clock.ticking(after: clocks[sender], wall: wall)
      #expect(sent > clocks[sender])
      clocks[sender] = sent
      clocks[receiver] = max(clocks[receiver], sent)
    }
    // No clock ran further ahead than the fastest wall clock plus the number of writes.
    #expect(clocks.allSatisfy { $0.milliseconds <= 2 * 90_000 + 50 + 1 })
  }

  @Test func `the counter carries into the milliseconds`() {
    let full = Clock(raw: 5 << 16 | 0xffff)
    #expect(full.next == Clock(milliseconds: 6))
    #expect(full.next.counter == 0)
    #expect(Clock(raw: .max).next == Clock(raw: .max))
  }

  @Test func `moments outside 48 bits are clamped`() {
    #expect(Clock(milliseconds: -1) == .zero)
    #expect(Clock(milliseconds: .min) == .zero)
    #expect(Clock(milliseconds: 1 << 48).milliseconds == 1 << 48 - 1)
    #expect(Clock(milliseconds: .max).milliseconds == 1 << 48 - 1)
  }

  @Test func `stamps compare like their bytes: clock, device, set`() {
    var random = SeededRandom(seed: 5)
    func stamp() -> Stamp {
      func word() -> UInt64 { random.below(3) == 0 ? random.next() : UInt64(random.below(2)) }
      return Stamp(
        clock: Clock(raw: word()), device: DeviceKey(Bytes32(0, word(), 0, word())),
        set: ChangeSetID(Bytes32(word(), 0, 0, word())))
    }
    func bytes(_ stamp: Stamp) -> [UInt8] {
      var bytes: [UInt8] = []
      appendBigEndian(stamp.clock.raw, to: &bytes)
      return bytes + stamp.device.bytes + stamp.set.bytes
    }
    for _ in 0..<3_000 {
      let (left, right) = (stamp(), stamp())
      #expect((left < right) == bytes(left).lexicographicallyPrecedes(bytes(right)))
    }
  }
}
