import Foundation
import Membership
import Storage
import Wire

extension Home {
  /// Which process has the store; nil if none has, or it is not known.
  package var storeHolder: Int32? { StoreLock.holder(of: store) }
}

extension WaymarkError {
  package static func runsAlready(_ home: Home, _ process: Int32?) -> WaymarkError {
    WaymarkError(
      exitCode: ExitCode.storeHeld, code: .alreadyRunning,
      message: "A node runs already; the store in \(home.path) is held by "
        + "\(process.map { "process \($0)" } ?? "it").",
      next: "\(waymark: "status"); for a second node on this machine, --home DIR")
  }

  /// - Parameter hasBegun: whether the node had taken the command.
  package static func notAnswering(_ process: Int32?, hasBegun: Bool) -> WaymarkError {
    let name = process.map { "The node (process \($0))" } ?? "The node"
    let isStopped = process.map(isStopped) ?? false
    let what = isStopped ? "is stopped and does not answer." : "does not answer; is it stopped?"
    let unknown = hasBegun ? " Whether it carried out the command is not known." : ""
    let number = process.map { "\($0)" } ?? "PROCESS"
    return WaymarkError(
      exitCode: ExitCode.notRunning, code: .notAnswering,
      message: "\(name) \(what)\(unknown)",
      next: isStopped
        ? "kill -CONT \(number), or fg in its terminal"
        : "kill -CONT \(number), or fg in its terminal; if that does not help, kill \(number) and \(waymark: "run")"
    )
  }

  /// Whether a process was stopped, as by Ctrl-Z; false where the system does not tell.
  private static func isStopped(_ process: Int32) -> Bool {
    guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
      let end = stat.lastIndex(of: ")")
    else { return false }
    return ["T", "t"].contains(stat[stat.index(after: end)...].drop { $0 == " " }.prefix(1))
  }

  package static let hungUp = WaymarkError(
    exitCode: ExitCode.failed, code: .hungUp, message: "The running node hung up before it answered.",
    next: .waymark("status"))

  package static let cancelled = WaymarkError.failed(
    .cancelled, "The command was cancelled; nothing was changed.", next: "the same again")

  package static let closed = WaymarkError(
    exitCode: ExitCode.failed, code: .closed, message: "This node has been closed.",
    next: "open the home again")

  /// Why something of a store that is open failed.
  package static func reading(_ home: Home, _ error: any Error) -> WaymarkError {
    opening(home, error, "read")
  }

  /// Why a home can't be opened, with the exit code of the cause; makes its store suspect if the disk failed it.
  package static func opening(
    _ home: Home, _ error: any Error, _ verb: String = "opened"
  ) -> WaymarkError {
    switch error {
    case let failure as WaymarkError: return failure
    case is CancellationError: return .cancelled
    case _ where isInterrupted(error): return .cancelled
    case StoreError.storeIsHeld(let holder) where holder == ProcessInfo.processInfo.processIdentifier:
      return WaymarkError(
        exitCode: ExitCode.storeHeld, code: .storeHeld,
        message: "The store in \(home.path) is open in this process already.",
        next: "use the node that has it, or close that first")
    case StoreError.storeIsHeld(let holder):
      return WaymarkError(
        exitCode: ExitCode.storeHeld, code: .storeHeld,
        message:
          "The store in \(home.path) is held by \(holder.map { "process \($0)" } ?? "another process").",
        next: "end that process, or use another --home")
    case StoreError.newerSchema(let found, let known):
      return .failed(
        .newerStore,
        "The store in \(home.path) was written by a newer version of Waymark (schema \(found), this one reads "
          + "\(known)); nothing was changed.",
        next: "bring this program up to date; \(waymark: "version") says which this is")
    case StoreError.damaged(let why):
      return .failed(
        .store, "The store in \(home.path) can't be \(verb): it is damaged: \(why).",
        next: .waymark("verify --deep"))
    case StatementError.wrongCircle:
      return .failed(
        .store,
        "The store in \(home.path) can't be \(verb): it holds no circle, as a file that is empty or cut off.",
        next: home.restoreAdvice(now: systemWall()))
    case StoreError.damagedSet:
      return .failed(
        .damagedSet,
        "The disk of \(home.path) has altered a change set that this needs; the rest of the store is not affected.",
        next: "\(waymark: "status") says which; once another device has sent it again, try again")
    case StoreError.lockFailed(let code):
      return .failed(
        .file,
        "The store in \(home.path) can't be \(verb): its lock can't be taken: \(reason(code).lowercased()).",
        next: code == EROFS
          ? "see whether the disk is mounted for reading only: findmnt -T \(shellWord(home.path))"
          : Files.look(home.store + ".lock", code))
    case _ where isNoRoom(error): return .diskFull(home)
    case _ where isLostWrite(error):
      // Nothing that a person starts next may take for written what was not.
      home.markSuspect()
      return .brokenStore(home, error)
    case _ where (try? BackupFile(path: home.store)) != nil:
      let kept = home.path + "/backup.waymark"
      return .failed(
        .isBackup, "\(home.store) is a backup file, and no store.",
        next: "mv \(shellWord(home.store)) \(shellWord(kept)), then \(waymark: "restore \(shellWord(kept))")")
    case _ where isDamagedFile(error):
      // Damage outside what is signed is repaired from that. Else nothing but a copy helps.
      let isSignedPartWhole = Store.isSignedPartReadable(home.store)
      return .failed(
        .store, "The store in \(home.path) can't be \(verb): its file is damaged (\(error)).",
        next: isSignedPartWhole ? .waymark("verify --deep --repair") : home.restoreAdvice(now: systemWall()))
    default:
      return .failed(
        .store, "The store in \(home.path) can't be \(verb): \(error).", next: .waymark("verify --deep"))
    }
  }
}

extension WaymarkError {
  package static func diskFull(_ home: Home) -> WaymarkError {
    .failed(
      .diskFull, "The disk of \(home.path) is full; nothing was written.",
      next: "make room on it (df -h \(home.path)), then try again")
  }

  package static func brokenStore(_ home: Home, _ error: any Error) -> WaymarkError {
    .failed(
      .storeBroken,
      "The disk of \(home.path) failed (\(error)): nothing goes on with it, and whether the last change was written shows "
        + "at the next start. Nothing that was acknowledged before is lost by this.",
      next: "see what is wrong with the disk (dmesg), then \(waymark: "run"): it verifies the store first")
  }

  package static let busy = WaymarkError.failed(
    .busy, "\(Limits.controlClientsMax) other commands talk to the node already.",
    next: "wait until one of them has ended, then try again")
}
