/// Commands that change much at once: they show what they would do, take a backup first, and can be undone.
extension CommandTable {
  static let largeChanges: [CommandSpec] = [
    CommandSpec(
      words: ["mirror"], summary: "make the records here, and so everywhere, those of another device",
      options: [
        .init(flag: "--from", placeholder: "PEER", summary: "the device whose records are wanted"), only,
        trip,
        preview("say what would change, and change nothing"),
      ],
      details: """
        What only this device holds is taken back in one operation; what that device holds comes by
        sync, which is turned on. A device that was away brings nothing back, unless somebody changed
        something there meanwhile: that merges as usual, and waymark status says so.
        """),
    CommandSpec(
      words: ["assert"], summary: "make the records everywhere those of this device",
      options: [only, trip, preview("say what would change, and change nothing")],
      details: """
        What the connected devices hold and this one does not is taken back in one operation.
        After waymark restore, to make the restored state win: waymark sync off, waymark run, and when
        the others are there waymark assert, which turns sync on again.
        """),
    CommandSpec(
      words: ["cleanup"], summary: "take away trips that tests left behind",
      options: [preview("show them only")],
      details: """
        Looks for such words as “test trip”, “debug”, “sample” or “demo” in the names of trips, shows
        the trips, and deletes them only after a yes. A backup is taken first, and waymark undo brings
        them back.
        """),
    CommandSpec(
      words: ["restamp"], summary: "date anew what was written while this machine's clock ran ahead",
      options: [preview("say what is dated ahead, and change nothing")],
      details: """
        Set the machine's clock first. Changes dated more than ten minutes ahead wait on all other devices
        until that time has come. This device ends its log before them and writes them again with the
        present time, in the same order: history and undo stay. Works with or without other devices. A backup
        is taken first. Where the connected devices have another time than this machine, nothing is done.
        """),
  ]

  private static let only = CommandSpec.Option(
    flag: "--only", placeholder: "KIND", summary: "only records of this kind")

  private static let trip = CommandSpec.Option(
    flag: "--trip", placeholder: "T", summary: "only this trip and all that belongs to it")
}
