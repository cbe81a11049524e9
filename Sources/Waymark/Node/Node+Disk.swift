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

  /// Since the store last had no room.
  var isDiskFull: Bool { replicator.disk.isFull }

  /// Refuses what would be written while the disk is full, in words.
  func checkDisk() throws {
    if isDiskFull { lookAtDisk() }
    guard !isDiskFull else { throw WaymarkError.diskFull(home) }
  }

  /// What the disk's state asks of the node.
  func perform(_ effect: DiskEffect) {
    switch effect {
    case .shrinkBallast:
      nodeChanged()
      ballast.shrinkToReserve()
      log.error("store", "the disk is full; nothing is stored until there is room")
    case .holdBallast: ballast.hold()
    case .look(let wait):
      timers.schedule(.disk, after: wait) { [weak self] in self?.assumeIsolated { $0.lookAtDisk() } }
    case .stop(let error): breakStore(error)
    case .report(let error):
      log.error("store", "the store refused a transaction: \(error)")
      notice(.storeFailed("\(error)"))
    case .resume: log.info("store", "there is room on the disk again")
    case .shrinkLog: break
    }
  }

  private func lookAtDisk() { turn { $0.handle(.looked(hasRoom: ballast.hasRoom), now: time) } }

  /// Does what needs room on a disk that works, and says so where there is none, or it fails.
  func withRoom(_ body: () throws -> Void) throws {
    do { try body() } catch { throw notKept(error) }
  }

  /// Takes note of why nothing was written; gives it in the words of a command.
  func notKept(_ error: any Error) -> any Error {
    guard isNoRoom(error) || isBrokenStore(error) else { return error }
    replicator.storeFailed(error)
    return isNoRoom(error) ? WaymarkError.diskFull(home) : broken ?? error
  }
}

extension WaymarkError {
  static func diskFull(_ home: Home) -> WaymarkError {
    .failed(
      .diskFull, "The disk of \(home.path) is full; nothing was written.",
      next: "make room on it (df -h \(home.path)), then try again")
  }
}
