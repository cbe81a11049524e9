import Records
package import Waymark
import WaymarkCare

/// The commands that a node performs, by their names on the control socket.
enum Commands {
  /// Returns the command with a name. A command that all kinds share has one name for each kind; whether there is such a
  /// kind, the command finds out from the node.
  static func named(_ name: String) -> (any NodeCommand.Type)? {
    if let found = byName[name] { return found }
    let words = name.split(separator: ".", omittingEmptySubsequences: false)
    return words.count == 2 && !words[0].isEmpty ? byAction[String(words[1])] : nil
  }

  private static let byName: [String: any NodeCommand.Type] = Dictionary(
    uniqueKeysWithValues: all.filter { !($0 is any KindCommand.Type) }.map { ($0.name, $0) })

  private static let byAction: [String: any KindCommand.Type] = Dictionary(
    uniqueKeysWithValues: all.compactMap { $0 as? any KindCommand.Type }.map { ($0.action, $0) })

  private static let all: [any NodeCommand.Type] = [
    Ping.self, OpenPage.self, ShowStatus.self, ShowMetrics.self, LoggingLevel.self, WaitUntilInSync.self,
    ListPeers.self, AddPeer.self, PausePeer.self, ResumePeer.self, PingPeer.self, RenamePeer.self,
    ShowSync.self, TurnSyncOn.self, TurnSyncOff.self, SyncNow.self,
    ListConflicts.self, ShowConflict.self, ResolveConflicts.self, ShowHistory.self, Undo.self, Explain.self,
    ListMembers.self, Revoke.self, GrantRoom.self, Invite.self, ListInvitations.self,
    CancelInvitation.self, PromoteMember.self, LeaveCircle.self, RenameDevice.self, RemovePeer.self,
    WriteBackup.self,
    ListRecords.self, ShowRecord.self, AddRecord.self, EditRecord.self, DeleteRecord.self, RestoreRecord.self,
    FindRecords.self, ShowToday.self, ReadPage.self,
    EraseRecords.self, ListTrash.self, EmptyTrash.self,
    ListFiles.self, KeepFiles.self, FetchFile.self,
    ShowTimeline.self, TickHabit.self, UntickHabit.self, SetHabit.self,
    ShowProfile.self, SetProfile.self,
    ListSettings.self, GetSetting.self, SetSetting.self, UnsetSetting.self,
    ShowOnboarding.self, CompleteOnboarding.self, ResetOnboarding.self,
    Verify.self, Mirror.self, AssertRecords.self, CleanUp.self, Restamp.self,
    ImportFiles.self, ExportRecords.self,
    ShowPremium.self, IssueOwnPremium.self, ListIssuers.self,
    InstallEntitlement.self, RemoveEntitlement.self, BuyMockPremium.self, CancelMockPremium.self,
    TrustIssuer.self, UntrustIssuer.self,
  ]
}

/// `ping`: checks whether the node accepts work. Every conversation on the control socket begins with a `ping`.
package struct Ping: PromptCommand {
  package static let name = "ping"
  package var isReadOnly: Bool { true }

  package struct Answer: Codable, Sendable {
    package let version: String
  }

  package init() {}

  package func perform(on node: isolated Node) -> Answer { Answer(version: WaymarkVersion.text) }
}
