import Backups
import Platform
import LogStorage
import Membership
package import Reasons
package import Records
import Storage
import Wire

extension Home {
  /// The process that holds the store; nil if there is none, or it is not known.
  package var storeHolder: Int32? { StoreLock.holder(of: store) }
}

extension WaymarkError {
  package static func runsAlready(_ home: Home, _ process: Int32?) -> WaymarkError {
    WaymarkError(
      exitCode: ExitCode.storeHeld, code: .alreadyRunning,
      message: "A node is already running; the store in \(home.path) is in use by "
        + "\(process.map { StoreHolder($0).name } ?? "it").",
      next: "\(waymark: "status"); for a second node on this machine, use --home DIR")
  }

  /// - Parameter hasBegun: whether the node had accepted the command.
  package static func notAnswering(_ process: Int32?, hasBegun: Bool) -> WaymarkError {
    let name = process.map { "The node (process \($0))" } ?? "The node"
    let isStopped = process.map(isStopped) ?? false
    let what = isStopped ? "is stopped and does not answer." : "does not answer; is it stopped?"
    let unknown = hasBegun ? " It is unknown whether the node carried out the command." : ""
    let number = process.map { "\($0)" } ?? "PROCESS"
    return WaymarkError(
      exitCode: ExitCode.notRunning, code: .notAnswering,
      message: "\(name) \(what)\(unknown)",
      next: isStopped
        ? "kill -CONT \(number), or fg in its terminal"
        : "kill -CONT \(number), or fg in its terminal; if that does not help, kill \(number) and \(waymark: "run")"
    )
  }

  /// Whether a process is stopped, as with Ctrl-Z; false if the system does not report this.
  private static func isStopped(_ process: Int32) -> Bool {
    guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
      let end = stat.lastIndex(of: ")")
    else { return false }
    return ["T", "t"].contains(stat[stat.index(after: end)...].drop { $0 == " " }.prefix(1))
  }

  package static let hungUp = WaymarkError(
    exitCode: ExitCode.failed, code: .hungUp,
    message: "The running node closed the connection before it answered.",
    next: .waymark("status"))

  package static let cancelled = WaymarkError.failed(
    .cancelled, "The command was cancelled; nothing was changed.", next: "run it again")

  package static let closed = WaymarkError(
    exitCode: ExitCode.failed, code: .closed, message: "This node has been closed.",
    next: "open the home again")

  package static let suspended = WaymarkError(
    exitCode: ExitCode.failed, code: .suspended,
    message: "This node is suspended: it has released its store and its connections.",
    next: "call `resume()`, then try again")

  package static func keysReplaced(_ home: Home) -> WaymarkError {
    WaymarkError(
      exitCode: ExitCode.badKey, code: .keysReplaced,
      message: "The store in \(home.path) got other keys or another circle while this node was suspended.",
      next: "close this node, and open the home again")
  }

  /// The error for a failed read from an open store.
  package static func reading(_ home: Home, _ error: any Error) -> WaymarkError {
    opening(home, error, "read")
  }

  /// The error for a home that can't be opened, with the exit code of the cause. Marks the store suspect if its disk
  /// failed.
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
        message: "The store in \(home.path) is already open in this process.",
        next: "use the node that has it open, or close that first")
    case StoreError.storeIsHeld(let holder):
      return WaymarkError(
        exitCode: ExitCode.storeHeld, code: .storeHeld,
        message: "The store in \(home.path) is in use by \(StoreHolder(holder).name).",
        next: StoreHolder(holder).stopping + ", or use another --home")
    case StoreError.newerSchema(let found, let known):
      return .failed(
        .newerStore,
        "The store in \(home.path) was written by a newer version of Waymark (schema \(found), this one reads "
          + "\(known)); nothing was changed.",
        next: "update this program; \(waymark: "version") shows its version")
    case let error as SchemaError: return .badSchema(error)
    case StoreError.outdated:
      return .failed(
        .outdatedStore,
        "The tables of the store in \(home.path) were made by another version of the app, or for fewer kinds of records.",
        next: "open the home with a node, which rebuilds them: \(waymark: "status")")
    case StoreError.formerFormat:
      return .failed(
        .formerFormat,
        "The store in \(home.path) has the former format 1, which this version of Waymark can't read; "
          + "nothing was changed.",
        next: "run waymark export with the version that wrote it; then move \(shellWord(home.path)) away, "
          + "\(waymark: "init"), and \(waymark: "import FILE")")
    case StoreError.damaged(let why):
      return .failed(
        .store, "The store in \(home.path) can't be \(verb): it is damaged: \(why).",
        next: .waymark("verify --deep"))
    case StatementError.wrongCircle:
      return .failed(
        .store,
        "The store in \(home.path) can't be \(verb): it contains no circle; the file may be empty or truncated.",
        next: home.restoreAdvice(now: systemWall()))
    case StoreError.damagedSet:
      return .failed(
        .damagedSet,
        "This needs a change set that is damaged on the disk of \(home.path); the rest of the store is not affected.",
        next: "\(waymark: "status") shows which; try again once another device has sent it again")
    case StoreError.lockFailed(let code):
      return .failed(
        .file,
        "The store in \(home.path) can't be \(verb): its lock can't be acquired: \(systemReason(code).lowercased()).",
        next: code == EROFS
          ? "check whether the disk is mounted read-only: findmnt -T \(shellWord(home.path))"
          : Files.look(home.store + ".lock", code))
    case _ where isNoRoom(error): return .diskFull(home)
    case _ where isLostWrite(error):
      // The next process must not rely on data that may never have reached the disk.
      home.markSuspect()
      return .brokenStore(home, error)
    case _ where (try? BackupFile(path: home.store)) != nil:
      let kept = home.path + "/backup.waymark"
      return .failed(
        .isBackup, "\(home.store) is a backup file, not a store.",
        next: "mv \(shellWord(home.store)) \(shellWord(kept)), then \(waymark: "restore \(shellWord(kept))")")
    case _ where isDamagedFile(error):
      // Damage outside the signed data can be repaired from the signed data; otherwise only a backup helps.
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
      next: "free up space on it (df -h \(home.path)), then try again")
  }

  package static func brokenStore(_ home: Home, _ error: any Error) -> WaymarkError {
    .failed(
      .storeBroken,
      "Disk error on \(home.path) (\(error)); nothing more is written. Whether the last change was saved is determined "
        + "at the next start. Earlier acknowledged changes are safe.",
      next: "check the disk (dmesg), then \(waymark: "run"), which verifies the store first")
  }

  package static let busy = WaymarkError.failed(
    .busy, "\(Limits.controlClientsMax) other commands are already connected to the node.",
    next: "wait until one of them ends, then try again")
}

extension WaymarkError {
  /// The error for a schema that an app gives and that breaks a rule.
  package static func badSchema(_ error: SchemaError) -> WaymarkError {
    .failed(.schema, "\(error)", next: "correct the `RecordFields` of that record, or the name of the app")
  }
}
