import Platform
import Model
import Waymark

extension HabitPage {
  /// - Parameters:
  ///   - progress: all entries of the habit.
  ///   - categories: the categories, by their keys.
  init(_ progress: HabitProgress, _ categories: [String: HabitCategory]) {
    let (habit, today) = (progress.habit, progress.today)
    let earliest = progress.values.keys.min()
    let first = max(
      min(earliest ?? today, progress.firstDay ?? today, today), today.advanced(by: 1 - Self.daysMax))
    var (states, amounts): (String, [Double]) = ("", [])
    for day in first...today {
      states.append(DayState(progress, day).rawValue)
      if habit.kind == .numeric { amounts.append(progress.value(on: day)) }
    }
    let category = habit.categoryKey.flatMap { categories[$0] }
    self.init(
      id: habit.id, name: habit.name, emoji: habit.emoji, color: habit.colorHex,
      category: category.map { $0.displayName.isEmpty ? $0.name : $0.displayName }, kind: habit.kind,
      unit: habit.unitLabel, target: habit.kind == .numeric ? habit.dailyTarget : nil,
      weekdays: (1...7).filter { Locale.Weekday(number: $0).map { habit.schedule.isDue(on: $0) } ?? false },
      isActive: habit.isActive && habit.archivedDate == nil, streak: progress.currentStreak,
      bestStreak: progress.bestStreak, firstDay: first, days: states, amounts: amounts,
      hasEarlier: earliest.map { $0 < first } ?? false)
  }
}

extension HabitPage.DayState {
  fileprivate init(_ progress: HabitProgress, _ day: Day) {
    switch (progress.isDone(on: day), progress.isDue(on: day)) {
    case (true, true): self = .done
    case (true, false): self = .extra
    case (false, let isDue):
      if progress.value(on: day) > 0 {
        self = isDue ? .partial : .extraPartial
      } else if isDue {
        self = day == progress.today ? .open : .missed
      } else {
        self = .free
      }
    }
  }
}
