import JSONDocument

/// The help topic about files of other applications.
enum FormatsTopic {
  static let topic = HelpTopic(
    name: "formats",
    text: """
      Files of other applications
      An import is one operation, which waymark undo reverts. Importing the same file again changes nothing; an
      edited file updates the records of its earlier import. --preview counts and changes nothing. Every row
      that is skipped is listed with its line or index, and so is every value that a record can't store. A
      file with an error is rejected as a whole, and the place of the error is reported.

      ritualist, traveling-snails   their JSON exports; import and export. Keys that Waymark does not
                  know, and null, are kept and exported. Legs are the list "legs" of a transportation.
      loop-csv    The unpacked folder of Loop Habit Tracker's archive, of any version. Days that Loop computed
                  or that were skipped don't become entries. Frequencies other than daily, and "at most", are
                  kept in the notes, and are exported from there.
      loop-db     Loop's database backup, up to version 25; import only.
      habitbull   A value above 1 makes a habit numeric. Dates are ISO, or like 4/11/2019: the first date with a
                  number above twelve determines the order of day and month for the whole file; without one,
                  the month comes first.
      ics         Calendars. A TripIt feed becomes trips; the two events of a stay or a car rental become one.
                  Events of KItinerary become stays, transportation and activities. All other events become
                  activities, in one trip per calendar. Repeating and cancelled events are skipped and listed.
                  A time without a zone is stored unchanged, as UTC.
      surmai      trip.json. Times are local to the place. Profiles of travellers and attached files are never
                  read.

      json        Waymark's own export; see below. Ids and values are those of the file: a record that is here
                  already is changed to what the file says, and an import into another circle gives equal
                  records. A key that is missing leaves a field unchanged, and null empties it.

      Exports: ritualist, traveling-snails, loop-csv, and
      ics         Trips are all-day events. The items of a trip are separate events, with notes, codes and
                  prices in the description. Zones have their IANA names and rules. Importing the file again,
                  even after editing it in a calendar, gives the same records. Items without a start are
                  skipped, only the name of an organization is included, and legs are left out.
      json        Everything that is visible, settings included: one list for each kind, the field names of
                  waymark KIND show, bytes as base64. Each file is in it once, if it is on this device; further
                  references to it have only its size and id. It is written and read piece by piece, so files
                  may be larger than memory. Not in it: the trash, history, conflicts, keys and the circle.
      csv         Everything, one file per kind (RFC 4180), attachments as files; for spreadsheets, export only.

      loop-csv and csv are several files: name a new folder with --output. --trip T exports one trip. Both put
      an apostrophe before = + - @ or a tab where a spreadsheet would run a formula: at the beginning of a
      text, and after a quotation mark, a semicolon, a tab or a line break. Importing loop-csv removes it.
      """)
}
