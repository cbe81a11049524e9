import FileStore
import LogStorage
import Storage
import Testing

@testable import Engine
@testable import SQLite

extension SQLiteError {
  static let noRoom = SQLiteError(code: 13, message: "database or disk is full", sql: nil)
  static let failed = SQLiteError(code: 10, message: "disk I/O error", sql: nil)
  static let other = SQLiteError(code: 1, message: "no such table", sql: nil)
}

/// The effects of each event, line by line, beginning with a working disk.
@Suite struct DiskStateTests {
  private struct Disk {
    var state = DiskState()

    /// The names of the effects of an event.
    mutating func after(_ input: DiskInput) -> [String] {
      var effects: [DiskEffect] = []
      state.handle(input, into: &effects)
      return effects.map { effect in
        switch effect {
        case .shrinkBallast: "shrink ballast"
        case .holdBallast: "hold ballast"
        case .look(let wait): "look in \(wait)"
        case .shrinkLog: "shrink log"
        case .resume: "resume"
        case .stop: "stop"
        case .report: "report"
        }
      }
    }
  }

  @Test func `a full disk is checked until it has room, and then everything resumes`() {
    var disk = Disk()
    #expect(disk.after(.failed(SQLiteError.noRoom)) == ["shrink ballast", "shrink log", "look in 20"])
    #expect(disk.state.isFull && !disk.state.canStore)
    // A second failure changes nothing: a check is scheduled already.
    #expect(disk.after(.failed(SQLiteError.noRoom)) == [])
    #expect(disk.after(.looked(hasRoom: false)) == ["look in 5000"])
    #expect(disk.after(.looked(hasRoom: true)) == ["hold ballast", "resume"])
    #expect(disk.state.canStore)
  }

  @Test func `a disk that has failed stops the node once, and nothing resumes`() {
    for begin in [[], [DiskInput.failed(SQLiteError.noRoom)]] {
      var disk = Disk()
      for input in begin { _ = disk.after(input) }
      #expect(disk.after(.failed(SQLiteError.failed)) == ["stop"])
      #expect(disk.state.isBroken && !disk.state.canStore)
      for input in [
        DiskInput.failed(SQLiteError.failed), .failed(SQLiteError.noRoom), .looked(hasRoom: true),
      ] {
        #expect(disk.after(input) == [])
      }
      #expect(!disk.state.canStore)
    }
  }

  @Test func `an error that is not the disk's fault is reported, and the node continues`() {
    var disk = Disk()
    #expect(disk.after(.failed(SQLiteError.other)) == ["report"])
    #expect(disk.after(.failed(StoreError.damagedSet(number: 1))) == [])
    #expect(disk.state.canStore)
  }

  @Test func `a ballast that was missing at the start is created once there is room`() {
    var disk = Disk()
    #expect(disk.after(.started(lacksBallast: false)) == [])
    #expect(disk.after(.started(lacksBallast: true)) == ["look in 5000"])
    #expect(disk.after(.looked(hasRoom: false)) == ["look in 5000"])
    #expect(disk.after(.looked(hasRoom: true)) == ["hold ballast"])
  }

  @Test func `a disk that fills up again is handled as the first time, and by the same checks`() {
    var disk = Disk()
    let full: [any Error] = [SQLiteError.noRoom, FileStoreError.full, SQLiteError.noRoom]
    for error in full {
      #expect(disk.after(.failed(error)) == ["shrink ballast", "shrink log", "look in 20"])
      // Neither another failure nor the start of the node begins a second series of checks.
      #expect(disk.after(.failed(FileStoreError.full)) == [])
      #expect(disk.after(.started(lacksBallast: true)) == [])
      #expect(disk.after(.failed(SQLiteError.other)) == ["report"])
      #expect(disk.state.isFull)
      #expect(disk.after(.looked(hasRoom: false)) == ["look in 5000"])
      #expect(disk.after(.looked(hasRoom: false)) == ["look in 5000"])
      #expect(disk.after(.looked(hasRoom: true)) == ["hold ballast", "resume"])
      #expect(disk.after(.looked(hasRoom: true)) == ["hold ballast"], "nothing is resumed twice")
      #expect(disk.state.canStore)
    }
  }
}
