import Platform
public import Model
import NodeRuntime
import Records
import Replication

// Live queries for records and for the screens that show them.

extension LiveQuery {
  /// The records that match a query.
  public static func records<Owner>(_ query: Query<Owner>) -> LiveQuery where Value == [Owner] {
    LiveQuery(.records, topics(of: query), query, records: { try $0.records(query, &$1) })
  }

  /// The record with an id; nil if it does not exist, is deleted or is hidden.
  public static func record<Owner>(_ id: Identifier<Owner>) -> LiveQuery where Value == Owner? {
    LiveQuery(.record, [.kind(Owner.kind.number)], id, records: { source, _ in try source.record(id) })
  }

  /// The number of records that match a query.
  public static func count<Owner>(_ query: Query<Owner>) -> LiveQuery where Value == Int {
    LiveQuery(.count, topics(of: query), query, records: { try $0.count(query, &$1) })
  }
}

// MARK: Trash

extension LiveQuery {
  /// The deleted records of a kind, and those that are hidden because a record that they belong to is deleted. The most
  /// recently deleted come first.
  public static func deleted<Owner: Record>(_ type: Owner.Type) -> LiveQuery where Value == [Deleted<Owner>] {
    // Which record hides one that has a parent depends on other kinds too.
    let topics: Set<Topic> = Owner.kind.parentKinds.isEmpty ? [.kind(Owner.kind.number)] : [.records]
    return LiveQuery(.deleted, topics) { node, _ in
      try Trash(store: node.store).deleted(type) { node.name(of: $0) }
    }
  }
}

extension LiveQuery<[DeletedRecord]> {
  /// The deleted records of all kinds, and those that are hidden because a record that they belong to is deleted. The
  /// most recently deleted come first. ``Node/restore(_:)->OperationID?`` restores one.
  public static var trash: LiveQuery {
    LiveQuery(.trash, [.records]) { node, _ in
      try Trash(store: node.store).deleted { node.name(of: $0) }
    }
  }
}

extension LiveQuery<Day> {
  /// The current day, in the zone that the profile chooses for counting days. A watch delivers the next one at midnight
  /// in that zone, and another one if the zone changes.
  public static var day: LiveQuery {
    LiveQuery(.day, [.kind(Kind.profile.number)]) { try $0.store.currentDay(&$1) }
  }
}

extension LiveQuery<Profile> {
  /// The person's profile; its name is empty until a name is set.
  public static var profile: LiveQuery {
    LiveQuery(
      .profile, [.kind(Kind.profile.number)], records: { source, _ in Profile(try source.heldProfile()) })
  }
}

extension LiveQuery {
  /// The first record of a query in its order; nil if no record matches.
  public static func first<Owner>(_ query: Query<Owner>) -> LiveQuery where Value == Owner? {
    LiveQuery(.first, topics(of: query), query, records: { try $0.records(query.prefix(1), &$1).first })
  }

  /// How many records of a query have each value of a property.
  ///
  /// ```swift
  /// let activities = try await node.read(.counts(of: Activity.all, by: \.tripID))
  /// ```
  public static func counts<Owner, Group: QueryValue & Hashable>(
    of query: Query<Owner>, by property: any KeyPath<Owner, Group> & Sendable
  ) -> LiveQuery where Value == [Group: Int] {
    LiveQuery(
      .counts, topics(of: query), query, property, records: { try $0.counts(of: query, by: property, &$1) })
  }

  /// The sum, smallest, greatest and average of a number of the records of a query.
  ///
  /// ```swift
  /// let water = HabitEntry.all.filter(\.habitID == habit.id)
  /// let litres = try await node.read(.summary(of: \.value, in: water)).sum
  /// ```
  public static func summary<Owner, Number: QueryNumber>(
    of number: any KeyPath<Owner, Number> & Sendable, in query: Query<Owner>
  ) -> LiveQuery where Value == NumberSummary {
    LiveQuery(
      .summary, topics(of: query), number, query, records: { try $0.summary(of: number, in: query, &$1) })
  }

  /// The sum, smallest, greatest and average of a number of the records of a query, for each value of another property.
  public static func summaries<Owner, Number: QueryNumber, Group: QueryValue & Hashable>(
    of number: any KeyPath<Owner, Number> & Sendable, in query: Query<Owner>,
    by property: any KeyPath<Owner, Group> & Sendable
  ) -> LiveQuery where Value == [Group: NumberSummary] {
    LiveQuery(
      .summaries, topics(of: query), number, query, property,
      records: { try $0.summaries(of: number, in: query, by: property, &$1) })
  }

  /// The sum, smallest, greatest and average of an amount of money of the records of a query: one summary for each
  /// currency, sorted by code. That of amounts without a currency comes first.
  ///
  /// ```swift
  /// let unpaid = Lodging.all.filter(\.payment == .unpaid)
  /// for total in try await node.read(.summary(of: \.cost, in: unpaid)) { show(total.sum, total.currency) }
  /// ```
  public static func summary<Owner>(
    of money: any KeyPath<Owner, Money?> & Sendable, in query: Query<Owner>
  ) -> LiveQuery where Value == [MoneySummary] {
    LiveQuery(
      .summary, topics(of: query), money, query, records: { try $0.summary(of: money, in: query, &$1) })
  }

  /// The summaries of an amount of money by currency, for each value of another property.
  public static func summaries<Owner, Group: QueryValue & Hashable>(
    of money: any KeyPath<Owner, Money?> & Sendable, in query: Query<Owner>,
    by property: any KeyPath<Owner, Group> & Sendable
  ) -> LiveQuery where Value == [Group: [MoneySummary]] {
    LiveQuery(
      .summaries, topics(of: query), money, query, property,
      records: { try $0.summaries(of: money, in: query, by: property, &$1) })
  }

  /// The first and the last value of a date or day of the records of a query.
  ///
  /// ```swift
  /// let last = try await node.read(.summary(of: \.day, in: HabitEntry.all)).latest
  /// ```
  public static func summary<Owner, Property: QueryMoment>(
    of property: any KeyPath<Owner, Property> & Sendable, in query: Query<Owner>
  ) -> LiveQuery where Value == TimeSummary<Property.Time> {
    LiveQuery(
      .summary, topics(of: query), property, query,
      records: { try $0.summary(of: property, in: query, &$1) })
  }

  /// The first and the last value of a date or day of the records of a query, for each value of another property.
  public static func summaries<Owner, Property: QueryMoment, Group: QueryValue & Hashable>(
    of property: any KeyPath<Owner, Property> & Sendable, in query: Query<Owner>,
    by group: any KeyPath<Owner, Group> & Sendable
  ) -> LiveQuery where Value == [Group: TimeSummary<Property.Time>] {
    LiveQuery(
      .summaries, topics(of: query), property, query, group,
      records: { try $0.summaries(of: property, in: query, by: group, &$1) })
  }

  /// The topics of all kinds of records on which a query depends.
  package static func topics<Owner>(of query: Query<Owner>) -> Set<Topic> {
    Set(query.kinds.map { .kind($0.number) })
  }
}
