/// The help topic about documents for scripts.
enum JSONTopic {
  static let topic = HelpTopic(
    name: "json",
    text: """
      JSON for scripts
      With --json, every command prints its answer as one document on standard output. Its schema, such as
      waymark.trip.list/1, names the command; within a major number keys are only added.
        waymark trip list --json | jq -r '.items[] | [.id, .name] | @tsv'

      Lists        The rows of every list are under items, and also under the key of their kind, such as
                   trips. The id of a row is id.
      Times        A time has the offset of its place. Next to each time stands the same time in UTC, in whole
                   seconds: startUTC next to start. jq's fromdate reads that one.
      Absent       An absent value is null, and an empty list is [].
      Money        {"amount": "120.50", "currency": "EUR"}; the amount is text, so that no digit is lost.
      Streams      import, backup, restore and status --watch print one document a line, each with a type.
                   The last line has the type summary or error.

      An error is a document too, of one line on standard output, with the type error. Nothing else is printed,
      and the exit code is the same as without --json (waymark help exit-codes):
        {"schema":"waymark.error/1","type":"error","exit":8,"code":"not_found",
         "message":"There is no trip “Oslo”.","next":"waymark trip list"}
      For a name that matches several things, candidates lists them. waymark help reasons explains many codes.
      """)
}
