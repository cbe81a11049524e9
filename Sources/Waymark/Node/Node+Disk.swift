import Engine
import Storage

extension Node {
  /// Opens the store of a home. On a disk that is full to the last byte that takes the room of the ballast.
  ///
  /// - Parameter isLocked: whether the caller has the lock of the home.
  /// - Throws: `WaymarkError` if there is no store: none is made where one was lost.
  static func openStore(_ home: Home, isLocked: Bool = false) throws -> sending Store {
    guard home.hasStore else { throw WaymarkError.noStore(home) }
    do {
      return try Store(path: home.store, isLocked: isLocked)
    } catch  where isNoRoom(error) {
      Ballast(home).release()
      return try Store(path: home.store, isLocked: isLocked)
    }
  }

  /// Refuses what would be written while the disk is full, in words.
  func checkDisk() throws {
    if isDiskFull { lookAtDisk() }
    guard !isDiskFull else { throw WaymarkError.diskFull(home) }
  }

  /// The store had no room for a transaction: nothing of it is there. Reading and sending go on.
  func diskIsFull() {
    guard !isDiskFull else { return }
    isDiskFull = true
    nodeChanged()
    ballast.shrinkToReserve()
    log.error("store", "the disk is full; nothing is stored until there is room")
    // It may be the write-ahead log that has filled it: then there is room at once.
    shrinkLog()
    awaitRoom(ballast.hasRoom ? 20 : 5_000)
  }

  private func awaitRoom(_ milliseconds: Int64) {
    timers.schedule(.disk, after: milliseconds) { [weak self] in
      self?.assumeIsolated { $0.lookAtDisk() }
    }
  }

  /// A start may have used up the ballast to open the store, or found no room for it. It is held again as soon as there
  /// is room: the next time the disk runs full it is needed.
  func restoreBallast() {
    if !isDiskFull, ballast.isWaitingForRoom { awaitRoom(5_000) }
  }

  private func lookAtDisk() {
    guard broken == nil else { return }
    guard ballast.hasRoom else { return awaitRoom(5_000) }
    ballast.hold()
    guard isDiskFull else { return }
    isDiskFull = false
    log.info("store", "there is room on the disk again")
    turn { $0.roomAgain(now: time) }
  }

  /// Does what needs room on a disk that works, and says so where there is none, or it fails.
  func withRoom(_ body: () throws -> Void) throws {
    do { try body() } catch { throw notKept(error) }
  }

  /// Takes note of why nothing was written; gives it in the words of a command.
  func notKept(_ error: any Error) -> any Error {
    if isNoRoom(error) {
      diskIsFull()
      return WaymarkError.diskFull(home)
    }
    return isBrokenStore(error) ? storeBroke(error) : error
  }
}

extension WaymarkError {
  static func diskFull(_ home: Home) -> WaymarkError {
    .failed(
      "disk_full", "The disk of \(home.path) is full; nothing was written.",
      next: "make room on it (df -h \(home.path)), then try again")
  }
}
