import Foundation
import Model
import NodeRuntime
import Testing
import WaymarkCare
import WaymarkFiles

@testable import Waymark

/// Watchers share the reads of equal queries, so a query has to differ from another one in everything that its value
/// depends on.
struct QueryIdentityTests {
  private static let rome = Trip.ID.new()
  private static let oslo = Trip.ID.new()
  private static let water = Habit.ID.new()
  private static let read = Habit.ID.new()

  private func expectDistinct(
    _ queries: [QueryIdentity], _ what: Comment, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(Set(queries).count == queries.count, what, sourceLocation: sourceLocation)
  }

  @Test func `queries of records differ by the kind, the id and the conditions`() {
    let named = Trip.all.filter(\.name == "Rome")
    expectDistinct(
      [
        LiveQuery<[Trip]>.records(Trip.all).identity, LiveQuery<[Trip]>.records(named).identity,
        LiveQuery<[Trip]>.records(Trip.all.prefix(1)).identity,
        LiveQuery<[Trip]>.records(Trip.all.sorted(by: \.startDate)).identity,
        LiveQuery<[Habit]>.records(Habit.all).identity,
      ], "records")
    expectDistinct(
      [
        LiveQuery<Trip?>.first(Trip.all).identity, LiveQuery<Trip?>.first(named).identity,
        LiveQuery<Trip?>.record(Self.rome).identity, LiveQuery<Trip?>.record(Self.oslo).identity,
        LiveQuery<Habit?>.first(Habit.all).identity, LiveQuery<Habit?>.record(Self.water).identity,
      ], "first and record")
    expectDistinct(
      [
        LiveQuery<Int>.count(Trip.all).identity, LiveQuery<Int>.count(named).identity,
        LiveQuery<Int>.count(Habit.all).identity,
      ], "count")
    expectDistinct(
      [
        LiveQuery<[Deleted<Trip>]>.deleted(Trip.self).identity,
        LiveQuery<[Deleted<Habit>]>.deleted(Habit.self).identity,
        LiveQuery<[DeletedRecord]>.trash.identity,
      ], "deleted")
    let again = Trip.all.filter(\.name == "Rome")
    #expect(LiveQuery<[Trip]>.records(named).identity == LiveQuery<[Trip]>.records(again).identity)
    #expect(LiveQuery<Trip?>.record(Self.rome).identity == LiveQuery<Trip?>.record(Self.rome).identity)
  }

  @Test func `summaries differ by the records, the number and the group`() {
    let cheap = Lodging.all.filter(\.name == "Casa")
    expectDistinct(
      [
        LiveQuery<[Trip.ID: Int]>.counts(of: Lodging.all, by: \.tripID).identity,
        LiveQuery<[Trip.ID: Int]>.counts(of: cheap, by: \.tripID).identity,
        LiveQuery<[Trip.ID: Int]>.counts(of: Activity.all, by: \.tripID).identity,
      ], "counts")
    let some = HabitEntry.all.filter(\.habitID == Self.water)
    expectDistinct(
      [
        LiveQuery<NumberSummary>.summary(of: \.value, in: HabitEntry.all).identity,
        LiveQuery<NumberSummary>.summary(of: \.value, in: some).identity,
      ], "summary of a number")
    expectDistinct(
      [
        LiveQuery<[MoneySummary]>.summary(of: \.cost, in: Lodging.all).identity,
        LiveQuery<[MoneySummary]>.summary(of: \.cost, in: cheap).identity,
        LiveQuery<[MoneySummary]>.summary(of: \.cost, in: Activity.all).identity,
      ], "summary of money")
  }

  @Test func `queries of screens differ by the trip, the habit, the days and the limit`() {
    expectDistinct(
      [
        LiveQuery<TripOverview?>.overview(of: Self.rome).identity,
        LiveQuery<TripOverview?>.overview(of: Self.oslo).identity,
        LiveQuery<[TimelineItem]>.timeline(of: Self.rome).identity,
        LiveQuery<[TimelineItem]>.timeline(of: Self.oslo).identity,
        LiveQuery<[TripOverview]>.overviews(of: Trip.all).identity,
        LiveQuery<[TripOverview]>.overviews(of: Trip.all.prefix(1)).identity,
      ], "trips")
    let (day, now) = (Day("2026-05-03"), Date(timeIntervalSince1970: 1_777_795_200))
    expectDistinct(
      [
        LiveQuery<HabitProgress?>.progress(of: Self.water).identity,
        LiveQuery<HabitProgress?>.progress(of: Self.read).identity,
        LiveQuery<HabitProgress?>.progress(of: Self.water, since: day).identity,
        LiveQuery<HabitProgress?>.progress(of: Self.water, now: now).identity,
      ], "the progress of a habit")
    expectDistinct(
      [
        LiveQuery<[HabitProgress]>.progress(of: Habit.all).identity,
        LiveQuery<[HabitProgress]>.progress(of: Habit.all.prefix(1)).identity,
        LiveQuery<[HabitProgress]>.progress(of: Habit.all, since: day).identity,
        LiveQuery<[HabitProgress]>.progress(of: Habit.all, now: now).identity,
      ], "the progress of habits")
    expectDistinct(
      [
        LiveQuery<[History.Operation]>.history(limit: 1).identity,
        LiveQuery<[History.Operation]>.history(limit: 2).identity,
      ], "history")
    expectDistinct(
      [LiveQuery<FileOverview>.files(limit: 1).identity, LiveQuery<FileOverview>.files(limit: 2).identity],
      "files")
  }

  @Test func `settings and the contents of attachments differ by the key, the default and the id`() {
    expectDistinct(
      [
        LiveQuery<Int>.setting(Setting("a", default: 1)).identity,
        LiveQuery<Int>.setting(Setting("b", default: 1)).identity,
        LiveQuery<Int>.setting(Setting("a", default: 2)).identity,
        LiveQuery<String>.setting(Setting("a", default: "1")).identity,
      ], "settings")
    expectDistinct(
      [
        LiveQuery<SettingState<Int>>.settingState(Setting("a", default: 1)).identity,
        LiveQuery<SettingState<Int>>.settingState(Setting("b", default: 1)).identity,
      ], "states of settings")
    let (one, other) = (Model.Attachment(id: .new()), Model.Attachment(id: .new()))
    expectDistinct(
      [
        LiveQuery<FileState>.fileState(of: one).identity, LiveQuery<FileState>.fileState(of: other).identity,
      ], "states of files")
  }
}
