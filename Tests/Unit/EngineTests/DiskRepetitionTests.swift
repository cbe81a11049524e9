import FileStore
import SQLite
import Testing

@testable import Engine

/// A disk that fills up more than once.
@Suite struct DiskRepetitionTests {
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
