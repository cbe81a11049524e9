package import Engine
package import FileFormat
package import FileStore
package import RecordTables
package import Replication
import Storage
package import Wire

/// A shell that does nothing by itself. A test adds what it watches or answers.
package protocol QuietShell: ReplicatorShell {}

extension QuietShell {
  package func send(_ message: [UInt8], to link: LinkID, as sendClass: SendClass) {}
  package func close(_ link: LinkID, _ cause: CloseCause) {}
  package func isCongested(_ link: LinkID, for sendClass: SendClass) -> Bool { false }
  package func schedule(_ timer: ReplicaTimer, after milliseconds: Moment) {}
  package func beginPiece() -> () -> Bool { { false } }
  package func beginMeasuring() -> () -> Moment { { 0 } }
  package func goOnSoon() {}
  package func finish(_ files: [FileReference], in store: FileStore) {}
  package func note(_ event: ReplicaEvent) {}
  package func note(_ event: ReplicatorEvent) {}
  package func replied(_ link: LinkID, _ reply: Reply) -> Input? { nil }
  package func noting(_ report: CommitReport) throws {}
  package func didCommit(_ report: CommitReport) {}
  package func perform(_ effect: DiskEffect) {}
  package func freeReserve() -> Bool { false }
}

/// A place that belongs to every incarnation.
package struct AnyIncarnation: IncarnationStorage {
  package init() {}

  package func names(_ incarnation: Incarnation) -> Bool { true }
  package func write(_ incarnation: Incarnation) throws {}
}
