import Platform
import Model
import Waymark

extension SampleData {
  /// A city with its time zone and currency.
  struct Destination: Sendable {
    let city: String
    let zone: String
    let currency: String

    /// Returns a local time at the destination on a day.
    func time(_ day: Day, hour: Int, minute: Int = 0) -> Date {
      day.noon(in: Zone(named: zone) ?? .utc)
        .addingTimeInterval(Double((hour - 12) * 60 + minute) * 60)
    }
  }

  static let places = [
    Destination(city: "Rome", zone: "Europe/Rome", currency: "EUR"),
    Destination(city: "Lisbon", zone: "Europe/Lisbon", currency: "EUR"),
    Destination(city: "Kyoto", zone: "Asia/Tokyo", currency: "JPY"),
    Destination(city: "Oslo", zone: "Europe/Oslo", currency: "NOK"),
    Destination(city: "Vienna", zone: "Europe/Vienna", currency: "EUR"),
    Destination(city: "Boston", zone: "America/New_York", currency: "USD"),
    Destination(city: "Dublin", zone: "Europe/Dublin", currency: "EUR"),
    Destination(city: "Sydney", zone: "Australia/Sydney", currency: "AUD"),
    Destination(city: "Zürich", zone: "Europe/Zurich", currency: "CHF"),
    Destination(city: "Lima", zone: "America/Lima", currency: "PEN"),
    Destination(city: "Nairobi", zone: "Africa/Nairobi", currency: "KES"),
    Destination(city: "Edinburgh", zone: "Europe/London", currency: "GBP"),
  ]

  static let seasons: [(name: String, month: Int)] = [
    ("spring", 4), ("summer", 7), ("autumn", 10), ("winter", 1),
  ]

  static let trades = ["Hotel", "Railways", "Museum", "Airlines", "Ferries"]

  /// Names of activities that fit most cities.
  static let doings = [
    "Old town on foot", "The big museum", "Market hall", "Boat on the river", "Concert",
    "Dinner with friends",
    "Tower at sunset", "Botanical garden",
  ]

  /// The template of a habit.
  struct HabitDraft: Sendable {
    let name: String
    let emoji: String
    let unit: String?
    let target: Double?
  }

  static let habits = [
    HabitDraft(name: "Stretching", emoji: "🧘", unit: nil, target: nil),
    HabitDraft(name: "Water", emoji: "💧", unit: "glasses", target: 8),
    HabitDraft(name: "Journal", emoji: "📓", unit: nil, target: nil),
    HabitDraft(name: "Reading", emoji: "📚", unit: "pages", target: 20),
    HabitDraft(name: "No sugar", emoji: "🍎", unit: nil, target: nil),
    HabitDraft(name: "Walking", emoji: "🚶", unit: "kilometres", target: 5),
    HabitDraft(name: "Call home", emoji: "📞", unit: nil, target: nil),
    HabitDraft(name: "Vocabulary", emoji: "🔤", unit: "words", target: 10),
  ]
}

extension SampleTrip {
  /// Adds transportation there and back, lodging for all nights, and activities on most days.
  mutating func fill(_ place: SampleData.Destination, _ first: Day, _ nights: Int, _ dice: inout Dice) {
    let last = first.advanced(by: nights)
    for (day, hour, way) in [(first, 8, "To"), (last, 15, "Back from")] {
      transportation.append(
        Transportation(
          name: "\(way) \(place.city)", tripID: trip.id, start: place.time(day, hour: hour),
          end: place.time(day, hour: hour + dice.number(1...4)), zone: place.zone,
          cost: money(4_000...45_000, place, &dice), type: dice.one(of: [.train, .plane, .car]), id: dice.id()
        ))
    }
    var day = first
    while day < last {
      let end = min(last, day.advanced(by: dice.number(1...5)))
      lodging.append(
        Lodging(
          name: dice.one(of: ["Hotel Aurora", "Pension Linden", "Casa Azul", "The Old Mill"]),
          tripID: trip.id, start: place.time(day, hour: 15), end: place.time(end, hour: 11), zone: place.zone,
          cost: money(6_000...20_000, place, &dice), id: dice.id()))
      day = end
    }
    for back in 1..<nights where dice.number(1...3) > 1 {
      let day = first.advanced(by: back)
      let hour = dice.number(9...18)
      activities.append(
        Activity(
          name: dice.one(of: SampleData.doings), tripID: trip.id, start: place.time(day, hour: hour),
          end: place.time(day, hour: hour + 2), zone: place.zone,
          cost: dice.number(1...2) == 1 ? money(500...9_000, place, &dice) : nil, id: dice.id()))
    }
  }

  /// Returns a random amount of money from a range given in hundredths of the currency unit.
  private func money(_ range: ClosedRange<Int>, _ place: SampleData.Destination, _ dice: inout Dice) -> Money
  {
    Money(
      Decimal(sign: .plus, exponent: -2, significand: Decimal(dice.number(range))), place.currency)
  }
}
