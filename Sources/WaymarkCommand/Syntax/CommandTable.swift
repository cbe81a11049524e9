import Control
import Records
import Waymark

/// Every command that `waymark` offers, in the order in which help lists them.
enum CommandTable {
  static let all: [CommandSpec] =
    circle + keys + watching + peerNames + glance + records + state + premium + files + largeChanges + machine
    + about

  /// The commands that have types, by the names that requests have.
  static let typed: [String: any TerminalCommand.Type] = Dictionary(
    uniqueKeysWithValues: commands.flatMap { type in type.syntaxes.map { ($0.requestName, type) } })

  private static let commands: [any TerminalCommand.Type] =
    kindCommands + [
      ShowStatus.self, ShowMetrics.self, LoggingLevel.self, WaitUntilInSync.self, ExamineHome.self,
      ListPeers.self, AddPeer.self, PausePeer.self, ResumePeer.self, PingPeer.self, RenamePeer.self,
      ShowSync.self, TurnSyncOn.self, TurnSyncOff.self, SyncNow.self,
      ListConflicts.self, ShowConflict.self, ResolveConflicts.self, ShowHistory.self, Undo.self,
      Explain.self, ListMembers.self, Revoke.self, FoundCircle.self, JoinCircle.self, Invite.self,
      WriteBackup.self, RestoreBackup.self,
      ShowTimeline.self, TickHabit.self, UntickHabit.self, SetHabit.self,
      ShowProfile.self, SetProfile.self,
      ListSettings.self, GetSetting.self, SetSetting.self, UnsetSetting.self,
      ShowOnboarding.self, CompleteOnboarding.self, ResetOnboarding.self,
    ]

  /// In the order in which help lists them for each kind.
  private static let kindCommands: [any KindTerminalCommand.Type] = [
    ListRecords.self, ShowRecord.self, AddRecord.self, EditRecord.self, DeleteRecord.self, RestoreRecord.self,
  ]

  /// The groups of the overview.
  static let groups: [(title: String, commands: [CommandSpec])] = [
    ("Your circle of devices", circle), ("Keys", keys),
    ("See what is going on", watching + peerNames + glance),
    ("Trips and habits", records), ("Profile, settings, onboarding", state),
    ("Premium", premium), ("Files", files), ("Large changes", largeChanges),
    ("Living on this machine", machine),
    ("About this program", about),
  ]

  private static let circle: [CommandSpec] = [
    FoundCircle.syntax, Invite.syntax, JoinCircle.syntax,
    CommandSpec(
      words: ["run"], summary: "run the node in the foreground",
      options: [
        .init(
          flag: "--listen", placeholder: "ADDR:PORT", summary: "default [::]:7433; port 0 is any free one"),
        .init(
          flag: "--peer", placeholder: "ADDR:PORT", summary: "dial this address too", isRepeated: true),
        .init(flag: "--no-discovery", placeholder: nil, summary: "do not look for peers on the network"),
        .init(
          flag: "--log-format", placeholder: "F", summary: "text, journal or json; default what fits",
          type: .words(LogFormat.allCases.map(\.rawValue))),
      ],
      details: """
        Prints `ready ADDR:PORT` when it serves. Ends with Ctrl-C or SIGTERM. What it does it says on
        standard error; WAYMARK_LOG=debug, info, warning or error sets how much, waymark log level
        changes that while it runs. To have it always running: waymark help service
        Devices of one circle find each other on one network by themselves: a firewall has to let UDP
        port 7433 in, and the TCP port that this one listens on.
        """),
    ListMembers.syntax, Revoke.syntax,
  ]

  static func rootKey(_ summary: String) -> CommandSpec.Option {
    .init(flag: "--root-key", placeholder: "FILE", summary: summary, type: .path)
  }

  private static let watching: [CommandSpec] = [
    ShowStatus.syntax, WaitUntilInSync.syntax,
    CommandSpec(
      words: ["verify"], summary: "compare what is stored here with the connected peers",
      operands: [.init(placeholder: "PEER", key: "peer", isOptional: true)],
      options: [
        .init(
          flag: "--deep", placeholder: nil,
          summary: "instead this device alone: every signature, and every row against the log"),
        .init(
          flag: "--repair", placeholder: nil,
          summary: "and make damaged tables anew from the log, after a backup"),
      ],
      details: """
        Ends with 0 if all is equal, 5 if change sets are still on their way, 1 if the same change sets gave
        other data; then it names the records that differ. With --deep nobody is asked: it ends with 1 if
        anything is not as the signed log says.
        """),
    ListPeers.syntax, AddPeer.syntax, PausePeer.syntax, ResumePeer.syntax, ShowSync.syntax, TurnSyncOn.syntax,
    TurnSyncOff.syntax, SyncNow.syntax, ListConflicts.syntax, ShowHistory.syntax, Undo.syntax,
    ShowConflict.syntax, ResolveConflicts.syntax,
  ]

  private static let records: [CommandSpec] =
    Registry.listed.flatMap { kind in kindCommands.map { $0.syntax(of: kind) } } + [
      ShowTimeline.syntax, TickHabit.syntax, UntickHabit.syntax, SetHabit.syntax,
    ]

  private static func output(_ summary: String) -> CommandSpec.Option {
    .init(flag: "--output", placeholder: "FILE", summary: summary, type: .path)
  }

  private static let state: [CommandSpec] = [
    ShowProfile.syntax, SetProfile.syntax, ListSettings.syntax, GetSetting.syntax, SetSetting.syntax,
    UnsetSetting.syntax, ShowOnboarding.syntax, CompleteOnboarding.syntax, ResetOnboarding.syntax,
  ]

  private static let premium =
    WaymarkVersion.traits.contains("MockPurchases") ? entitlements + mockPurchases : entitlements

  private static let entitlements: [CommandSpec] = [
    CommandSpec(words: ["entitlement", "show"], summary: "say whether there is premium, and until when"),
    CommandSpec(
      words: ["entitlement", "install"], summary: "install an entitlement",
      operands: [.init(placeholder: "FILE", key: "file", type: .path)]),
    CommandSpec(
      words: ["issuer", "init"], summary: "make an issuer's key: FILE and FILE.pub",
      operands: [.init(placeholder: "FILE", key: "file", type: .path)]),
    CommandSpec(
      words: ["issuer", "issue"], summary: "sign an entitlement",
      options: [
        .init(flag: "--key", placeholder: "FILE", summary: "the issuer's key", type: .path),
        .init(flag: "--circle", placeholder: "ID", summary: "for this circle"),
        .init(
          flag: "--device", placeholder: "ID", summary: "only for this device; may be repeated",
          isRepeated: true),
        .init(flag: "--until", placeholder: "TIME", summary: "good until this date or time"),
        .init(flag: "--from", placeholder: "TIME", summary: "good from then on; default now"),
        output("instead of standard output"),
      ]),
    CommandSpec(
      words: ["issuer", "trust"], summary: "accept an issuer's entitlements in this circle",
      operands: [.init(placeholder: "FILE.pub", key: "file", type: .path)],
      options: [
        .init(
          flag: "--key", placeholder: "FILE", summary: "the root key, if it is kept elsewhere", type: .path)
      ]),
  ]

  /// Only in builds with the trait MockPurchases.
  private static let mockPurchases: [CommandSpec] = [
    CommandSpec(
      words: ["entitlement", "buy"], summary: "make a mock purchase of premium",
      options: [
        mock, .init(flag: "--until", placeholder: "TIME", summary: "good until this date or time"),
      ]),
    CommandSpec(words: ["entitlement", "cancel"], summary: "take the mock purchase back", options: [mock]),
  ]

  private static let mock = CommandSpec.Option(
    flag: "--mock", placeholder: nil, summary: "no money moves")

  private static let files: [CommandSpec] = [
    CommandSpec(
      words: ["import"], summary: "take over an export of another application",
      operands: [.init(placeholder: "FILE", key: "files", type: .path, isRepeated: true)],
      options: [
        format("see waymark help formats; recognised by the content if not named", ExchangeNames.imported),
        preview("count only, write nothing"),
      ],
      details: """
        Reads exports of Ritualist, Traveling Snails, Loop Habit Tracker (the unpacked folder of its archive, or
        a database backup), HabitBull, Surmai (trip.json), and calendars (.ics), those of TripIt among them. One
        import is one operation: waymark undo takes it back. The same file again changes nothing; an edited one
        updates what it brought before. What is left out, and what can't be held, is listed with its place. A
        FILE of - is standard input.
        """),
    CommandSpec(
      words: ["export"], summary: "write an export that the other application reads",
      options: [
        format("see waymark help formats", ExchangeNames.exported),
        .init(flag: "--trip", placeholder: "T", summary: "only this trip"),
        output("instead of standard output"),
      ]),
    WriteBackup.syntax, RestoreBackup.syntax,
  ]

  static func preview(_ summary: String) -> CommandSpec.Option {
    .init(flag: "--preview", placeholder: nil, summary: summary)
  }

  private static func format(_ summary: String, _ names: [String]) -> CommandSpec.Option {
    CommandSpec.Option(
      flag: "--format", placeholder: "F", summary: summary,
      type: .words(names))
  }

  private static let about: [CommandSpec] = [
    CommandSpec(words: ["paths"], summary: "where the files of this node are"),
    CommandSpec(words: ["version"], summary: "which version this is"),
    CommandSpec(
      words: ["help"], summary: "explain a command or a topic",
      operands: [.init(placeholder: "TOPIC", key: "topic", isOptional: true, isRepeated: true)]),
  ]
}
