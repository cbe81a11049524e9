import FileFormat
import FileStore
import Replication
import Storage
import Wire

import RecordTables
@testable import Engine

/// A shell that does nothing by itself. A test adds what it watches or answers.
protocol QuietShell: ReplicatorShell {}

extension QuietShell {
  func send(_ message: [UInt8], to link: LinkID, as sendClass: SendClass) {}
  func close(_ link: LinkID, _ cause: CloseCause) {}
  func isCongested(_ link: LinkID, for sendClass: SendClass) -> Bool { false }
  func schedule(_ timer: ReplicaTimer, after milliseconds: Moment) {}
  func beginPiece() -> () -> Bool { { false } }
  func beginMeasuring() -> () -> Moment { { 0 } }
  func goOnSoon() {}
  func finish(_ files: [FileReference], in store: FileStore) {}
  func note(_ event: ReplicaEvent) {}
  func note(_ event: ReplicatorEvent) {}
  func replied(_ link: LinkID, _ reply: Reply) -> Input? { nil }
  func noting(_ report: CommitReport) throws {}
  func didCommit(_ report: CommitReport) {}
  func perform(_ effect: DiskEffect) {}
  func freeReserve() -> Bool { false }
}

/// A place that belongs to every incarnation.
struct AnyIncarnation: IncarnationStorage {
  func names(_ incarnation: Incarnation) -> Bool { true }
  func write(_ incarnation: Incarnation) throws {}
}
