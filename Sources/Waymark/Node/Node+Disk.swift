import Engine
import Storage

extension Node {
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
