public import Platform
import Model
public import Waymark
import WaymarkCare
import Wire

/// Generates sample trips, habits and organizations. The same seed gives the same data on every machine, including ids.
///
/// By default, no name looks like test data to `cleanup`.
///
/// ```swift
/// let sample = SampleData(seed: 7)
/// try await node.change { changes in
///   for trip in sample.trips(3) { changes.save(trip) }
///   changes.save(sample.habit(0))
/// }
/// ```
public struct SampleData: Hashable, Sendable {
  /// The seed that determines all data.
  public let seed: UInt64
  /// The last day on which habits have entries. Trips are in the years around it.
  public let today: Day

  /// Creates a generator.
  ///
  /// - Parameters:
  ///   - seed: the seed that determines all data.
  ///   - today: the last day on which habits have entries; nil for the day on which a ``VirtualClock`` starts.
  public init(seed: UInt64 = 1, today: Day? = nil) {
    self.seed = seed
    self.today = today ?? Day(VirtualClock.morning, in: .gmt)
  }

  // MARK: Trips

  /// Returns a trip with lodging, transportation there and back, and activities.
  ///
  /// - Parameters:
  ///   - index: the index of the trip, from 0. Each index gives a trip with a unique name.
  ///   - isLeftover: whether to name the trip like test data, so that `cleanup` finds it.
  public func trip(_ index: Int, isLeftover: Bool = false) -> SampleTrip {
    precondition(index >= 0, "trip \(index): indexes start at 0")
    var dice = Dice(seed, "trip", index)
    let place = Self.places[(index + dice.offset(Self.places.count, of: seed)) % Self.places.count]
    // Vary the place first, then the season, then the year, so that each name is unique.
    let round = index / Self.places.count
    let season = Self.seasons[round % Self.seasons.count]
    let year = today.year + 1 - round / Self.seasons.count
    let first = Day(year: year, month: season.month, day: dice.number(1...28)) ?? today
    let nights = dice.number(2...10)
    let name = isLeftover ? "Test Trip \(index)" : "\(place.city) in \(season.name) \(year)"
    var trip = Trip(
      name: name, startDate: place.time(first, hour: 8),
      endDate: place.time(first.advanced(by: nights), hour: 20), id: dice.id())
    trip.notes = dice.one(of: ["", "", "Take the good shoes.", "Passports are in the blue bag."])
    var sample = SampleTrip(trip: trip)
    sample.fill(place, first, nights, &dice)
    return sample
  }

  /// Returns the first `count` trips.
  public func trips(_ count: Int, areLeftovers: Bool = false) -> [SampleTrip] {
    (0..<count).map { trip($0, isLeftover: areLeftovers) }
  }

  // MARK: Habits

  /// Returns a habit with entries up to ``today``, on about four days out of five.
  ///
  /// - Parameters:
  ///   - index: the index of the habit, from 0. Every second habit is numeric, such as glasses of water.
  ///   - days: the number of days covered by entries; 365 for a year.
  ///   - zone: the time zone of all entries; nil for Rome.
  public func habit(_ index: Int, days: Int = 365, zone: TimeZone? = nil) -> SampleHabit {
    precondition(index >= 0 && days >= 0, "habit \(index), \(days) days: both must be 0 or greater")
    let zone = zone.map(Zone.init) ?? Zone(named: "Europe/Rome") ?? .utc
    var dice = Dice(seed, "habit", index)
    let draft = Self.habits[index % Self.habits.count]
    let round = index / Self.habits.count
    let name = round == 0 ? draft.name : "\(draft.name) \(round + 1)"
    var habit =
      draft.unit.map {
        Habit(name: name, counting: $0, dailyTarget: draft.target, emoji: draft.emoji, id: dice.id())
      } ?? Habit(name: name, emoji: draft.emoji, id: dice.id())
    habit.displayOrder = index
    habit.startDate = today.advanced(by: 1 - max(days, 1)).noon(in: zone)
    var logs: [HabitEntry] = []
    for back in stride(from: days - 1, through: 0, by: -1) {
      guard dice.number(1...5) > 1 else { continue }
      let noon = today.advanced(by: -back).noon(in: zone)
      let most = Int(draft.target ?? 1)
      logs.append(
        HabitEntry(
          habitID: habit.id, date: noon.addingTimeInterval(Double(dice.number(-240...480)) * 60), zone: zone,
          value: draft.unit == nil ? 1 : Double(dice.number(max(1, most / 2)...(most + 2))), id: dice.id()))
    }
    return SampleHabit(habit: habit, logs: logs)
  }

  /// Returns the first `count` habits, each with its entries.
  public func habits(_ count: Int, days: Int = 365, zone: TimeZone? = nil) -> [SampleHabit] {
    (0..<count).map { habit($0, days: days, zone: zone) }
  }

  // MARK: Organizations

  /// Returns the first `count` organizations, each with a unique name.
  public func organizations(_ count: Int) -> [Organization] {
    (0..<count).map { index in
      var dice = Dice(seed, "organization", index)
      let place = Self.places[index % Self.places.count]
      let round = index / Self.places.count
      let what = Self.trades[round % Self.trades.count]
      let again = round / Self.trades.count
      var organization = Organization(
        name: "\(what) \(place.city)" + (again == 0 ? "" : " \(again + 1)"), id: dice.id())
      organization.phone = "+\(dice.number(30...49)) \(dice.number(100_000...999_999))"
      return organization
    }
  }
}

/// A trip with its items.
public struct SampleTrip: Hashable, Sendable {
  /// The trip itself.
  public var trip: Trip
  /// The lodging, in order of nights.
  public var lodging: [Lodging] = []
  /// The transportation there and back.
  public var transportation: [Transportation] = []
  /// The activities, in order of days.
  public var activities: [Activity] = []

  init(trip: Trip) { self.trip = trip }
}

/// A habit with its entries.
public struct SampleHabit: Hashable, Sendable {
  /// The habit itself.
  public var habit: Habit
  /// The entries, oldest first.
  public var logs: [HabitEntry]
}

extension Changes {
  /// Saves a trip with its items.
  public mutating func save(_ sample: SampleTrip) {
    save(sample.trip)
    save(sample.lodging)
    save(sample.transportation)
    save(sample.activities)
  }

  /// Saves a habit with its entries.
  public mutating func save(_ sample: SampleHabit) {
    save(sample.habit)
    save(sample.logs)
  }
}

// MARK: Randomness

/// A random number generator for a single item, so that no item depends on those generated before it.
struct Dice {
  private var random: SplitMix
  private let milliseconds: UInt64

  init(_ seed: UInt64, _ what: String, _ index: Int) {
    var mixed = SplitMix(seed: seed)
    var state = mixed.next() ^ UInt64(index) &* 0x9e37_79b9_7f4a_7c15
    for byte in what.utf8 { state = (state ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    random = SplitMix(seed: state)
    milliseconds = UInt64(TestNode.morning) + UInt64(index)
  }

  mutating func number(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + Int(random.below(UInt64(range.upperBound - range.lowerBound + 1)))
  }

  mutating func one<Element>(of list: [Element]) -> Element { list[number(0...list.count - 1)] }

  /// Returns a start offset into a list of `count` elements, which depends only on the seed, not on the item's index.
  func offset(_ count: Int, of seed: UInt64) -> Int {
    var random = SplitMix(seed: seed)
    return Int(random.below(UInt64(count)))
  }

  /// Returns a version 7 UUID, as records have.
  mutating func id<Owner: Record>() -> Identifier<Owner> {
    let (high, low) = (random.next(), random.next())
    func byte(_ number: UInt64, _ shift: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: number >> shift) }
    let uuid = UUID(
      uuid: (
        byte(milliseconds, 40), byte(milliseconds, 32), byte(milliseconds, 24), byte(milliseconds, 16),
        byte(milliseconds, 8), byte(milliseconds, 0), 0x70 | byte(high, 8) & 0x0f, byte(high, 0),
        0x80 | byte(low, 56) & 0x3f, byte(low, 48), byte(low, 40), byte(low, 32), byte(low, 24),
        byte(low, 16), byte(low, 8), byte(low, 0)
      ))
    return Identifier(uuid)
  }
}
