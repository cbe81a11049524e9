import Console
import Control
import Records
import Waymark
import WaymarkCare

/// Every command of `waymark`, in the order in which help lists them.
enum CommandTable {
  static var all: [CommandSpec] {
    let schema = Schema.known
    if schema === Schema.builtIn { return builtIn }
    return all(schema)
  }

  /// The commands of a program that knows the built-in kinds alone. They are made only once, because they are many.
  private static let builtIn = all(.builtIn)

  private static func all(_ schema: Schema) -> [CommandSpec] {
    circle + keys + watching + records(schema) + trash + state + premium + files + largeChanges + machine
      + about
  }

  /// Returns the command of a request; nil if there is none.
  static func typed(_ requestName: String) -> (any TerminalCommand.Type)? {
    if let found = byRequestName[requestName] { return found }
    return all.contains { $0.requestName == requestName }
      ? kindCommands.first { requestName.hasSuffix(".\($0.action)") } : nil
  }

  private static let byRequestName: [String: any TerminalCommand.Type] = Dictionary(
    uniqueKeysWithValues: commands.map { ($0.syntax.requestName, $0) })

  private static let commands: [any TerminalCommand.Type] =
    [
      ShowStatus.self, ShowPage.self, ShowMetrics.self, LoggingLevel.self, WaitUntilInSync.self,
      ExamineHome.self,
      ListPeers.self, AddPeer.self, PausePeer.self, ResumePeer.self, PingPeer.self, RenamePeer.self,
      ShowSync.self, TurnSyncOn.self, TurnSyncOff.self, SyncNow.self,
      ListConflicts.self, ShowConflict.self, ResolveConflicts.self, ShowHistory.self, Undo.self,
      Explain.self, ListMembers.self, Revoke.self, GrantRoom.self, FoundCircle.self, JoinCircle.self,
      Invite.self, ListInvitations.self, CancelInvitation.self, PromoteMember.self, LeaveCircle.self,
      RenameDevice.self, RemovePeer.self, FindRecords.self, ShowToday.self,
      WriteBackup.self, RestoreBackup.self, EraseRecords.self, ListTrash.self, EmptyTrash.self,
      ListFiles.self, KeepFiles.self, FetchFile.self,
      ShowTimeline.self, TickHabit.self, UntickHabit.self, SetHabit.self,
      ShowProfile.self, SetProfile.self,
      ListSettings.self, GetSetting.self, SetSetting.self, UnsetSetting.self,
      ShowOnboarding.self, CompleteOnboarding.self, ResetOnboarding.self,
      Verify.self, Mirror.self, AssertRecords.self, CleanUp.self, Restamp.self,
      SetPassphrase.self, RemovePassphrase.self, ImportFiles.self, ExportRecords.self,
      ShowPremium.self, IssueOwnPremium.self, ListIssuers.self,
      InstallEntitlement.self, RemoveEntitlement.self, BuyMockPremium.self, CancelMockPremium.self,
      CreateIssuer.self, IssueEntitlement.self, IssueFromPurchase.self, TrustIssuer.self, UntrustIssuer.self,
      InstallService.self, UninstallService.self, ShowService.self, PrintCompletions.self,
      PrintManual.self, ShowPaths.self, ShowVersion.self,
      ListBackups.self, PruneBackups.self,
    ]

  /// The commands that every listed kind has, in the order in which help lists them.
  private static let kindCommands: [any KindTerminalCommand.Type] = [
    ListRecords.self, ShowRecord.self, AddRecord.self, EditRecord.self, DeleteRecord.self, RestoreRecord.self,
  ]

  /// The groups of the overview.
  static var groups: [(title: String, commands: [CommandSpec])] {
    [
      ("Your circle of devices", circle), ("Keys", keys),
      ("Status, sync and history", watching), ("Trips and habits", records(.known)),
      ("Trash and erasing", trash), ("Profile, settings, onboarding", state),
      ("Premium", premium), ("Files", files), ("Large changes", largeChanges),
      ("Service and shell", machine),
      ("About this program", about),
    ]
  }

  private static let circle: [CommandSpec] = [
    FoundCircle.syntax, Invite.syntax, ListInvitations.syntax, CancelInvitation.syntax, JoinCircle.syntax,
    CommandSpec(
      words: ["run"], summary: "run the node in the foreground",
      options: [
        .init(
          flag: "--listen", placeholder: "ADDR:PORT",
          summary: "where to listen; default [::]:7433; port 0 means any free port"),
        .init(
          flag: "--peer", placeholder: "ADDR:PORT", summary: "also dial this address", isRepeated: true),
        .init(flag: "--no-discovery", placeholder: nil, summary: "don't look for peers on the network"),
        .init(
          flag: "--follow-sync", placeholder: nil,
          summary: "turn sync on when another device does so everywhere"),
        .init(
          flag: "--page", placeholder: "ADDR:PORT",
          summary: "also serve the page that waymark page --live opens; default any free port of 127.0.0.1",
          valueAlone: defaultPage),
        .init(
          flag: "--log-format", placeholder: "F",
          summary: "text, journal or json; by default chosen according to where standard error goes",
          type: .words(LogFormat.allCases.map(\.rawValue))),
      ],
      details: """
        Prints `ready ADDR:PORT` once it is serving, and `page ADDRESS` with --page. Ctrl-C or SIGTERM ends it. It logs to standard error;
        WAYMARK_LOG=debug, info, warning or error sets the level, and waymark logging level changes it while
        the node runs. To keep a node running, see waymark help service. Devices of one circle find each other
        on a local network by themselves; a firewall must allow UDP port 7433 and the TCP port of --listen.
        """,
      exampleArguments: "--listen [::]:7433"),
    ListMembers.syntax, PromoteMember.syntax, LeaveCircle.syntax, RenameDevice.syntax, Revoke.syntax,
    GrantRoom.syntax,
  ]

  static func rootKey(_ summary: String) -> CommandSpec.Option {
    .init(flag: "--root-key", placeholder: "FILE", summary: summary, type: .path)
  }

  private static let watching: [CommandSpec] = [
    ShowStatus.syntax, ShowPage.syntax, WaitUntilInSync.syntax, Verify.syntax, ListPeers.syntax,
    AddPeer.syntax,
    RemovePeer.syntax, PausePeer.syntax, ResumePeer.syntax, ShowSync.syntax, TurnSyncOn.syntax,
    TurnSyncOff.syntax,
    SyncNow.syntax, ListConflicts.syntax, ShowHistory.syntax, Undo.syntax,
    ShowConflict.syntax, ResolveConflicts.syntax, PingPeer.syntax, RenamePeer.syntax,
    Explain.syntax, ExamineHome.syntax, ShowMetrics.syntax, LoggingLevel.syntax,
  ]

  private static func records(_ schema: Schema) -> [CommandSpec] {
    [ShowToday.syntax, FindRecords.syntax]
      + schema.listed.flatMap { kind in kindCommands.map { $0.syntax(of: kind) } } + [
        ShowTimeline.syntax, TickHabit.syntax, UntickHabit.syntax, SetHabit.syntax,
      ]
  }

  private static let trash: [CommandSpec] = [ListTrash.syntax, EmptyTrash.syntax, EraseRecords.syntax]

  private static let state: [CommandSpec] = [
    ShowProfile.syntax, SetProfile.syntax, ListSettings.syntax, GetSetting.syntax, SetSetting.syntax,
    UnsetSetting.syntax, ShowOnboarding.syntax, CompleteOnboarding.syntax, ResetOnboarding.syntax,
  ]

  private static let premium =
    WaymarkVersion.traits.contains("MockPurchases") ? entitlements + mockPurchases : entitlements

  private static let entitlements = [
    IssueOwnPremium.syntax, ShowPremium.syntax, InstallEntitlement.syntax, RemoveEntitlement.syntax,
    CreateIssuer.syntax, IssueEntitlement.syntax, IssueFromPurchase.syntax, TrustIssuer.syntax,
    UntrustIssuer.syntax, ListIssuers.syntax,
  ]

  /// Only in builds with the trait MockPurchases.
  private static let mockPurchases = [BuyMockPremium.syntax, CancelMockPremium.syntax]

  private static let files: [CommandSpec] = [
    ListFiles.syntax, KeepFiles.syntax, FetchFile.syntax,
    ImportFiles.syntax, ExportRecords.syntax, WriteBackup.syntax, RestoreBackup.syntax,
    ListBackups.syntax, PruneBackups.syntax,
  ]

  static func preview(_ summary: String) -> CommandSpec.Option {
    .init(flag: "--preview", placeholder: nil, summary: summary)
  }

  private static let keys = [SetPassphrase.syntax, RemovePassphrase.syntax]

  private static let machine = [
    InstallService.syntax, UninstallService.syntax, ShowService.syntax, PrintCompletions.syntax,
    PrintManual.syntax,
  ]

  private static let largeChanges = [
    Mirror.syntax, AssertRecords.syntax, CleanUp.syntax, Restamp.syntax,
  ]

  private static let about: [CommandSpec] = [
    ShowPaths.syntax, ShowVersion.syntax,
    CommandSpec(
      words: ["help"], summary: "show help for a command or a topic",
      operands: [.init(placeholder: "TOPIC", key: "topic", isOptional: true, isRepeated: true)],
      exampleArguments: "trip add"),
  ]
}
