import JSONDocument
import Records
import Wire

/// Generates files in the formats of other applications from a seed, for the demonstration and for tests.
///
/// The same seed gives the same bytes on every machine.
package enum SampleData {
  /// The size of a sample.
  package struct Size: Sendable {
    package var habits = 44
    package var logs = 20_000
    package var trips = 26
    package var items = 420

    package init() {}
  }

  /// Returns a file in Ritualist's format.
  package static func ritualist(seed: UInt64, size: Size = Size()) -> [UInt8] {
    var sample = HabitSample(seed: seed, size: size)
    return sample.file().bytes(.init(isPretty: true, sortsKeys: true))
  }

  /// Returns a file in Traveling Snails' format.
  package static func travelingSnails(seed: UInt64, size: Size = Size()) -> [UInt8] {
    var sample = TripSample(seed: seed, size: size)
    return sample.file().bytes(.pretty)
  }
}

/// Generates random values for samples. The mapping to numbers is our own, because that of the standard library may
/// change.
struct SampleGenerator {
  private var random: SplitMix

  init(seed: UInt64) { random = SplitMix(seed: seed) }

  mutating func next() -> UInt64 { random.next() }

  /// Returns a number from 0 to `count` − 1.
  mutating func below(_ count: Int) -> Int { Int(next() % UInt64(count)) }

  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  mutating func pick<Item>(_ items: [Item]) -> Item { items[below(items.count)] }

  mutating func id() -> RecordID { RecordID(Bytes16(next(), next())) }

  mutating func uuid() -> JSON { .string(id().uuid) }

  mutating func bytes(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count { appendBigEndian(next(), to: &bytes) }
    return Array(bytes.prefix(count))
  }
}

/// Times for samples: whole seconds, counted from 1 January 2025.
enum SampleTime {
  static let start: Int64 = 1_735_689_600

  static func json(day: Int, second: Int = 0) -> JSON {
    fileTime((start + Int64(day) * 86_400 + Int64(second)) * 1_000)
  }

  static let zones = [
    "Europe/Berlin", "America/New_York", "Asia/Tokyo", "Asia/Kathmandu", "Pacific/Auckland", "UTC",
  ]
}
