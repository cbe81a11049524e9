import JSONDocument

/// The page on files of other applications.
enum FormatsTopic {
  static let topic = HelpTopic(
    name: "formats",
    text: """
      Files of other applications
      An import is one operation: waymark undo takes it back. The same file again changes nothing, an
      edited one updates what it brought. --preview counts and writes nothing. Every row that is left
      out is listed with its line or index; what a record can't hold is said. A broken file is refused
      whole, with the place where it breaks.

      ritualist, traveling-snails   their JSON exports, both ways.
      loop-csv    The unpacked folder of Loop Habit Tracker's archive, of any version. Days that Loop
                  computed, and days skipped, are no entries. How often, where it is not daily, and
                  "at most" stand in the notes, and go back from there.
      loop-db     Loop's database backup, up to version 25; it is only read.
      habitbull   A value above 1 makes a habit numeric. Dates are ISO, or 4/11/2019: the first day
                  after a twelfth tells month and day apart for the whole file, else the month is first.
      ics         Calendars. A TripIt feed gives its trips, with one stay or car from two events;
                  KItinerary's events give stays, ways and activities. All other events become
                  activities of one trip for each calendar. Events that repeat or are cancelled are left
                  out and listed. A time without a zone is kept as its clock shows it, in UTC.
      surmai      trip.json. Times are those of the place's clock. Profiles of travellers and files of
                  attachments are never read.

      Exports: ritualist, traveling-snails, loop-csv, and
      ics         Trips are events of whole days, what belongs to them events of their own, with notes,
                  codes and prices in the description. Zones have their IANA names and their rules.
                  Imported again, also when edited in a calendar, they give the same records; what has
                  no start is left out, and of an organization only its name is there.
      json        Everything, with the names of waymark KIND show, lists by kind, bytes as base64.
      csv         Everything, one file for each kind (RFC 4180), attachments as files.
      loop-csv and csv are several files: name a new folder with --output. --trip T exports one trip.
      In both, = + - @ or a tab gets an apostrophe in front where a spreadsheet would run a formula:
      at the beginning of a text, and after a quotation mark, a semicolon, a tab or a line break.
      Importing loop-csv takes it away again.
      """)
}
