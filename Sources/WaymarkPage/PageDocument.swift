public import Platform
import Model
public import Waymark
import WaymarkCare

/// Everything that the page shows: the circle, the habits, the trips and the latest operations, at one moment.
///
/// ``Node/pageDocument()`` reads it, ``html()`` makes a file of it, and ``json()`` is what the script of the page reads.
public struct PageDocument: Hashable, Sendable, Codable {
  /// The time at which the document was read.
  public let generated: Date
  /// The current day, according to the profile's settings.
  public let today: Day
  /// The name of the device that wrote the document; nil in the page of a single trip, which is meant for others too.
  public let deviceName: String?
  /// The status of the node; nil in the page of a single trip.
  public let status: NodeStatus?
  /// The unresolved conflicts, at most ``conflictsMax``. ``NodeStatus/conflicts`` counts all of them.
  public let conflicts: [Conflict]
  /// The habits in list order.
  public let habits: [HabitPage]
  /// The trips in list order.
  public let trips: [TripPage]
  /// The newest operations of all devices, newest first, at most ``operationsMax``.
  public let history: [OperationPage]
  /// Whether there are older operations.
  public let hasMoreHistory: Bool
  /// The kinds of records, for sentences that count them.
  public let kinds: [KindName]

  /// The name of a kind of record.
  public struct KindName: Hashable, Sendable, Codable {
    /// The kind.
    public let kind: RecordKind
    /// The plural of its name: `trips`.
    public let plural: String
  }

  /// The greatest number of conflicts in a document.
  public static let conflictsMax = 200
  /// The greatest number of operations in a document.
  public static let operationsMax = 100

  private enum CodingKeys: String, CodingKey {
    case generated
    case today
    case deviceName
    case status
    case conflicts
    case habits
    case trips
    case history
    case hasMoreHistory = "moreHistory"
    case kinds
  }
}

/// A habit and what was done on each day.
public struct HabitPage: Hashable, Sendable, Codable, Identifiable {
  public let id: Habit.ID
  /// The name of the habit.
  public let name: String
  /// The emoji of the habit; empty if it has none.
  public let emoji: String
  /// The color of the habit, `#RRGGBB`.
  public let color: String
  /// The name of the habit's category; nil if it has none.
  public let category: String?
  /// How the habit is measured.
  public let kind: HabitKind
  /// The unit of the amounts; empty if there is none.
  public let unit: String
  /// The amount to reach each day; nil for a habit that has no target.
  public let target: Double?
  /// The weekdays on which the habit is due, 1 = Monday … 7 = Sunday.
  public let weekdays: [Int]
  /// Whether the habit is in use: active, and not archived.
  public let isActive: Bool
  /// The number of consecutive due days up to today on which the habit was done.
  public let streak: Int
  /// The length of the longest streak in days.
  public let bestStreak: Int
  /// The day of the first character of `days`.
  public let firstDay: Day
  /// One character for each day from `firstDay` until today; see ``DayState``.
  public let days: String
  /// The sum of the entries of each day, in the order of `days`; empty for a habit that is either done or not.
  public let amounts: [Double]
  /// Whether there are entries before `firstDay`, which is at most ``daysMax`` days before today.
  public let hasEarlier: Bool

  /// The greatest number of days of a habit in a document: ten years and a few weeks.
  public static let daysMax = 3_700

  /// The state of a habit on one day, as a character of ``HabitPage/days``.
  public enum DayState: Character, Hashable, Sendable {
    /// Due and done.
    case done = "d"
    /// Done on a day on which the habit was not due.
    case extra = "e"
    /// Due and begun: there are entries, but the target is not reached.
    case partial = "p"
    /// Begun on a day on which the habit was not due. Such a day is not missed.
    case extraPartial = "x"
    /// Due, and nothing was done.
    case missed = "m"
    /// Due today, and nothing was done so far.
    case open = "o"
    /// Not due, and nothing was done. Such a day is not missed.
    case free = "-"
  }

  private enum CodingKeys: String, CodingKey {
    case id
    case name
    case emoji
    case color
    case category
    case kind
    case unit
    case target
    case weekdays
    case isActive = "active"
    case streak
    case bestStreak
    case firstDay
    case days
    case amounts
    case hasEarlier = "earlier"
  }
}

/// A trip with its totals and its timeline.
public struct TripPage: Hashable, Sendable, Codable, Identifiable {
  public let id: Trip.ID
  /// The name of the trip.
  public let name: String
  /// Notes about the trip; empty if the items are left out.
  public let notes: String
  /// Whether an app asks for authentication before it shows the trip.
  public let isProtected: Bool
  /// The first day of the trip; nil if neither the trip nor an item has a date.
  public let firstDay: Day?
  /// The last day of the trip; nil if neither the trip nor an item has a date.
  public let lastDay: Day?
  /// The number of places to stay.
  public let lodgings: Int
  /// The number of journeys.
  public let transportations: Int
  /// The number of activities.
  public let activities: Int
  /// One total for each currency.
  public let totals: [Amount]
  /// The countries of the trip in alphabetical order, as they are written in the addresses of organizations.
  public let countries: [String]
  /// The items in chronological order, those without a time last; nil if they are left out, because the trip is
  /// protected and the document is not about this trip alone.
  public let items: [Item]?

  /// An exact amount of money.
  public struct Amount: Hashable, Sendable, Codable {
    /// The amount with all of its digits; nil for a sum of more than 34 digits.
    public let amount: String?
    /// The currency as an ISO 4217 code; nil if it is not given.
    public let currency: String?
  }

  /// A time as it is shown at its place.
  public struct LocalTime: Hashable, Sendable, Codable {
    /// The time in its zone, with the offset: `2026-05-03T15:00:00+02:00`.
    public let time: String
    /// The IANA name of the zone; nil for UTC.
    public let zone: String?
  }

  /// An item of a trip.
  public struct Item: Hashable, Sendable, Codable, Identifiable {
    /// The kind of the item.
    public let kind: RecordKind
    public let id: UUID
    /// The name of the item.
    public let name: String
    /// The time when the item begins; nil if it is not given.
    public let start: LocalTime?
    /// The time when the item ends; nil if it is not given.
    public let end: LocalTime?
    /// The means of transport; nil for another item, or if it is not given.
    public let type: TransportationType?
    /// The cost of the item; nil if it is not given.
    public let cost: Amount?
    /// How much of the cost has been paid.
    public let paid: Payment
    /// The name of the organization; nil for none.
    public let organization: String?
    /// The place: its own name, or the address of the organization; nil if neither is given.
    public let place: String?
    /// The number of the reservation or booking; empty if there is none.
    public let reference: String
    /// Notes about the item.
    public let notes: String
    /// The attached files.
    public let attachments: [File]
    /// The legs of a journey, in their order; empty for another item.
    public let legs: [Leg]
  }

  /// A part of a journey.
  public struct Leg: Hashable, Sendable, Codable {
    /// The number of the flight or train; empty if it is not given.
    public let service: String
    /// The departure.
    public let departure: Stop
    /// The arrival.
    public let arrival: Stop
    /// The number of the seat; empty if it is not given.
    public let seat: String
    /// The boarding group; empty if it is not given.
    public let boardingGroup: String

    /// One end of a leg.
    public struct Stop: Hashable, Sendable, Codable {
      /// The name of the place; empty if it is not given.
      public let place: String
      /// The time; nil if it is not given.
      public let time: LocalTime?
      /// The terminal; empty if it is not given.
      public let terminal: String
      /// The gate or platform; empty if it is not given.
      public let gate: String
    }
  }

  /// A file that is attached to an item.
  public struct File: Hashable, Sendable, Codable {
    /// The name of the file.
    public let name: String
    /// The size of the file in bytes.
    public let size: Int
  }

  private enum CodingKeys: String, CodingKey {
    case id
    case name
    case notes
    case isProtected = "protected"
    case firstDay
    case lastDay
    case lodgings
    case transportations
    case activities
    case totals
    case countries
    case items
  }
}

/// An operation and, if it wrote a single record, the values that it wrote and replaced.
public struct OperationPage: Hashable, Sendable, Codable, Identifiable {
  public var id: OperationID { operation.id }
  /// The operation.
  public let operation: History.Operation
  /// The effect on each field of the record; empty unless the operation wrote a single record that still exists.
  public let fields: [History.Field]
}
