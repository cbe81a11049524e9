public import Foundation
public import Waymark
import Wire

/// Trips and habits to fill a store with: the same ones for the same seed, on every machine, ids included.
///
/// None bears a name that `cleanup` takes for something that a test left behind, unless it is asked for.
///
/// ```swift
/// let sample = SampleData(seed: 7)
/// try await node.change { changes in
///   for trip in sample.trips(3) { changes.save(trip) }
///   changes.save(sample.habit(0))
/// }
/// ```
public struct SampleData: Hashable, Sendable {
  /// Decides everything.
  public let seed: UInt64
  /// The last day of the habits' logs; the trips lie around it.
  public let today: Day

  /// - Parameters:
  ///   - seed: decides everything.
  ///   - today: the last day of the habits' logs; nil for the day on which a ``VirtualClock`` begins.
  public init(seed: UInt64 = 1, today: Day? = nil) {
    self.seed = seed
    self.today = today ?? Day(VirtualClock.morning, in: .gmt)
  }

  // MARK: Trips

  /// A trip with places to stay, ways there and back, and things to do.
  ///
  /// - Parameters:
  ///   - index: which one, from 0; each has a name of its own.
  ///   - isLeftover: whether it is called as tests call theirs, so that `cleanup` finds it.
  public func trip(_ index: Int, isLeftover: Bool = false) -> SampleTrip {
    precondition(index >= 0, "trip \(index): they are counted from 0")
    var dice = Dice(seed, "trip", index)
    let place = Self.places[(index + dice.offset(Self.places.count, of: seed)) % Self.places.count]
    // Each name comes once: the place changes first, then the season, then the year.
    let round = index / Self.places.count
    let season = Self.seasons[round % Self.seasons.count]
    let year = today.year + 1 - round / Self.seasons.count
    let first = Day(year: year, month: season.month, day: dice.number(1...28)) ?? today
    let nights = dice.number(2...10)
    let name = isLeftover ? "Test Trip \(index)" : "\(place.city) in \(season.name) \(year)"
    var trip = Trip(
      name: name, startDate: place.time(first, hour: 8),
      endDate: place.time(first.adding(days: nights), hour: 20), id: dice.id())
    trip.notes = dice.one(of: ["", "", "Take the good shoes.", "Passports are in the blue bag."])
    var sample = SampleTrip(trip: trip)
    sample.fill(place, first, nights, &dice)
    return sample
  }

  /// The first so many trips.
  public func trips(_ count: Int, areLeftovers: Bool = false) -> [SampleTrip] {
    (0..<count).map { trip($0, isLeftover: areLeftovers) }
  }

  // MARK: Habits

  /// A habit and what was done of it up to ``today``, about four days out of five.
  ///
  /// - Parameters:
  ///   - index: which one, from 0: every other one is numeric, as glasses of water are.
  ///   - days: how many days of logs; 365 for a year.
  ///   - zone: where the person was all the time; nil for Rome.
  public func habit(_ index: Int, days: Int = 365, zone: TimeZone? = nil) -> SampleHabit {
    precondition(index >= 0 && days >= 0, "habit \(index) with \(days) days of logs")
    let zone = zone ?? TimeZone(identifier: "Europe/Rome") ?? .gmt
    var dice = Dice(seed, "habit", index)
    let draft = Self.habits[index % Self.habits.count]
    let round = index / Self.habits.count
    let name = round == 0 ? draft.name : "\(draft.name) \(round + 1)"
    var habit =
      draft.unit.map {
        Habit(name: name, counting: $0, dailyTarget: draft.target, emoji: draft.emoji, id: dice.id())
      } ?? Habit(name: name, emoji: draft.emoji, id: dice.id())
    habit.displayOrder = index
    habit.startDate = today.adding(days: 1 - max(days, 1)).noon(in: zone)
    var logs: [HabitEntry] = []
    for back in stride(from: days - 1, through: 0, by: -1) {
      guard dice.number(1...5) > 1 else { continue }
      let noon = today.adding(days: -back).noon(in: zone)
      let most = Int(draft.target ?? 1)
      logs.append(
        HabitEntry(
          habitID: habit.id, date: noon.addingTimeInterval(Double(dice.number(-240...480)) * 60), zone: zone,
          value: draft.unit == nil ? 1 : Double(dice.number(max(1, most / 2)...(most + 2))), id: dice.id()))
    }
    return SampleHabit(habit: habit, logs: logs)
  }

  /// The first so many habits, each with its logs.
  public func habits(_ count: Int, days: Int = 365, zone: TimeZone? = nil) -> [SampleHabit] {
    (0..<count).map { habit($0, days: days, zone: zone) }
  }

  // MARK: Organizations

  /// The first so many organizations, each by a name of its own.
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

/// A trip and what belongs to it.
public struct SampleTrip: Hashable, Sendable {
  /// The trip itself.
  public var trip: Trip
  /// Where to stay, in the order of the nights.
  public var lodging: [Lodging] = []
  /// The way there and the way back.
  public var transportation: [Transportation] = []
  /// What to do, in the order of the days.
  public var activities: [Activity] = []

  init(trip: Trip) { self.trip = trip }
}

/// A habit and what was done of it, the oldest first.
public struct SampleHabit: Hashable, Sendable {
  /// The habit itself.
  public var habit: Habit
  /// What was done, the oldest first.
  public var logs: [HabitEntry]
}

extension Changes {
  /// Makes a trip with all that belongs to it.
  public mutating func save(_ sample: SampleTrip) {
    save(sample.trip)
    save(sample.lodging)
    save(sample.transportation)
    save(sample.activities)
  }

  /// Makes a habit with its logs.
  public mutating func save(_ sample: SampleHabit) {
    save(sample.habit)
    save(sample.logs)
  }
}

// MARK: What they are made of

/// A generator of its own for each thing, so that one is the same whatever was made before it.
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

  /// Where a list begins for a seed, the same for every index.
  func offset(_ count: Int, of seed: UInt64) -> Int {
    var random = SplitMix(seed: seed)
    return Int(random.below(UInt64(count)))
  }

  /// An id of version 7, as records have.
  mutating func id() -> UUID {
    let (high, low) = (random.next(), random.next())
    func byte(_ number: UInt64, _ shift: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: number >> shift) }
    return UUID(
      uuid: (
        byte(milliseconds, 40), byte(milliseconds, 32), byte(milliseconds, 24), byte(milliseconds, 16),
        byte(milliseconds, 8), byte(milliseconds, 0), 0x70 | byte(high, 8) & 0x0f, byte(high, 0),
        0x80 | byte(low, 56) & 0x3f, byte(low, 48), byte(low, 40), byte(low, 32), byte(low, 24),
        byte(low, 16), byte(low, 8), byte(low, 0)
      ))
  }
}
