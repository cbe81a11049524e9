import Console
import Platform
import Records
import Waymark

extension TimeText {
  func ago(_ date: Date?) -> String { ago(date?.milliseconds) }
  func short(_ date: Date?) -> String { short(date?.milliseconds) }
  func full(_ date: Date?) -> String { full(date?.milliseconds) }
  func clock(_ date: Date) -> String { clock(date.milliseconds) }
  func utc(_ date: Date) -> String { utc(date.milliseconds) }

  /// Returns the end of a period in UTC, in the form in which it is typed: `2027-12-31 UTC` for the end of that day.
  func end(_ date: Date) -> String { endText(milliseconds: date.milliseconds) }
}
