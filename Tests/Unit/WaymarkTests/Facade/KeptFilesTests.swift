import Control
import Foundation
import Model
import Replication
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

@testable import Waymark

/// Which files a device keeps, and how it fetches the others.
struct KeptFilesTests {
  private func content(_ size: Int) -> Data { Data((0..<size).map { UInt8(truncatingIfNeeded: $0 / 983) }) }

  /// Lets virtual time pass until a condition holds.
  private func eventually(
    _ what: Comment, _ circle: TestCircle, seconds: Int = 60, _ isMet: () async throws -> Bool
  ) async throws {
    for _ in 0..<seconds {
      if try await isMet() { return }
      try await circle.clock.advance(by: .seconds(1))
    }
    #expect(try await isMet(), what)
  }

  private func attach(
    _ size: Int, named name: String = "ticket.pdf", on device: String, _ circle: TestCircle
  ) async throws -> Model.Attachment {
    let trip = try await circle[device].save(Trip(name: "Rome"))
    let hotel = try await circle[device].save(Lodging(name: "Casa", tripID: trip.id))
    return try await circle[device].attach(content(size), named: name, to: .lodging(hotel.id))
  }

  /// Runs a call that waits, while virtual time passes.
  private func whileTimePasses<Result: Sendable>(
    _ circle: TestCircle, _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let task = Task { try await body() }
    let ended = Heard<Bool>()
    Task {
      _ = await task.result
      ended.note(true)
    }
    for _ in 0..<120 where ended.all.isEmpty { try await circle.clock.advance(by: .milliseconds(500)) }
    #expect(!ended.all.isEmpty, "the call ends within a minute")
    if ended.all.isEmpty { task.cancel() }
    return try await task.value
  }

  @Test func `a device that keeps files on demand fetches one when it is read`() async throws {
    let circle = try await TestCircle("alice", "bob")
    try await circle["bob"].setFileKeepPolicy(.onDemand)
    let file = try await attach(3_000_000, on: "alice", circle)
    let alice = try await circle["alice"].status().device
    try await eventually("bob learns where the file is", circle) {
      let state = try? await circle["bob"].fileState(of: file)
      return state == .elsewhere(on: [DeviceReference(device: alice, name: "alice")])
    }
    let before = try await circle["bob"].status().files
    #expect((before.here, before.missing, before.missingBytes, before.keep) == (0, 1, 3_000_000, .onDemand))

    let bob = circle["bob"]
    let states = try await whileTimePasses(circle) {
      var states: [FileState] = []
      for try await state in bob.fetch(file) { states.append(state) }
      return states
    }
    #expect(states.last == .here)
    #expect(try await bob.data(of: file) == content(3_000_000))
    let after = try await bob.status().files
    #expect((after.here, after.bytes, after.missing) == (1, 3_000_000, 0))
    await circle.close()
  }

  @Test func `a file that is not used for a day is dropped, and can be fetched again`() async throws {
    let circle = try await TestCircle("alice", "bob")
    let file = try await attach(100_000, on: "alice", circle)
    try await eventually("the file arrives", circle) {
      (try? await circle["bob"].fileState(of: file)) == .here
    }
    try await circle["bob"].setFileKeepPolicy(.onDemand)
    try await circle.clock.advance(by: .seconds(23 * 3_600))
    #expect(try await circle["bob"].fileState(of: file) == .here)
    try await circle.clock.advance(by: .seconds(3 * 3_600))
    #expect(try await !circle["bob"].fileState(of: file).isHere)
    #expect(try await circle["alice"].fileState(of: file) == .here)
    let bob = circle["bob"]
    #expect(try await whileTimePasses(circle) { try await bob.data(of: file) } == content(100_000))
    await circle.close()
  }

  @Test func `the last device that keeps a file never drops it`() async throws {
    let circle = try await TestCircle("alice", "bob")
    let file = try await attach(100_000, on: "alice", circle)
    try await eventually("the file arrives", circle) {
      (try? await circle["bob"].fileState(of: file)) == .here
    }
    for name in ["alice", "bob"] { try await circle[name].setFileKeepPolicy(.upTo(0)) }
    try await circle.clock.advance(by: .seconds(5 * 3_600))
    for name in ["alice", "bob"] { #expect(try await circle[name].fileState(of: file) == .here, "\(name)") }
    try await circle["alice"].setFileKeepPolicy(.all)
    try await circle.clock.advance(by: .seconds(2 * 3_600))
    #expect(try await circle["alice"].fileState(of: file) == .here)
    #expect(try await !circle["bob"].fileState(of: file).isHere)
    await circle.close()
  }

  @Test func `as many files are fetched as fit`() async throws {
    let circle = try await TestCircle("alice", "bob")
    try await circle["bob"].setFileKeepPolicy(.upTo(250_000))
    var files: [Model.Attachment] = []
    for number in 0..<4 { files.append(try await attach(100_000 + number, on: "alice", circle)) }
    try await eventually("two files arrive", circle) { try await circle["bob"].status().files.here == 2 }
    try await circle.clock.advance(by: .seconds(2 * 3_600))
    let totals = try await circle["bob"].status().files
    #expect((totals.here, totals.missing) == (2, 2))
    try await circle["bob"].setFileKeepPolicy(.all)
    try await eventually("all files arrive", circle) { try await circle["bob"].status().files.here == 4 }
    await circle.close()
  }

  @Test func `an error says where a file is that can't be fetched`() async throws {
    let circle = try await TestCircle("alice", "bob")
    try await circle["bob"].setFileKeepPolicy(.onDemand)
    let file = try await attach(100_000, on: "alice", circle)
    try await eventually("bob learns where the file is", circle) {
      guard let state = try? await circle["bob"].fileState(of: file) else { return false }
      return state != .nowhere
    }
    await circle.close("alice")
    let bob = circle["bob"]
    let error = await #expect(throws: WaymarkError.self) {
      try await whileTimePasses(circle) { try await bob.data(of: file) }
    }
    #expect(error?.code == .noContent)
    #expect(error?.message.description.contains("last seen on alice") == true)
    #expect(error?.next?.description == "waymark run, on alice")
    await circle.close()
  }

  @Test func `a wait for a file can be cancelled, and nothing is fetched any more`() async throws {
    let circle = try await TestCircle("alice", "bob")
    try await circle["bob"].setFileKeepPolicy(.onDemand)
    let file = try await attach(100_000, on: "alice", circle)
    try await eventually("bob has the record", circle) {
      (try? await circle["bob"].fileState(of: file)) != nil
    }
    await circle.close("alice")
    let bob = circle["bob"]
    let task = Task { try await bob.data(of: file) }
    try await circle.clock.advance(by: .milliseconds(100))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(await bob.withCore { $0.replica.wantedFiles.isEmpty })
    await circle.close()
  }

  @Test func `of two waits for a file one can be cancelled, and the other goes on`() async throws {
    let circle = try await TestCircle("alice", "bob")
    try await circle["bob"].setFileKeepPolicy(.onDemand)
    let file = try await attach(100_000, on: "alice", circle)
    try await eventually("bob has the record", circle) {
      (try? await circle["bob"].fileState(of: file)) != nil
    }
    await circle.disconnect("alice", "bob")
    let bob = circle["bob"]
    let begun = Heard<Int>()
    func fetching(_ number: Int) -> Task<FileState?, any Error> {
      Task {
        var last: FileState?
        for try await state in bob.fetch(file) {
          begun.note(number)
          last = state
        }
        return last
      }
    }
    let (cancelled, other) = (fetching(1), fetching(2))
    try await eventually("both wait", circle, seconds: 5) { Set(begun.all) == [1, 2] }
    cancelled.cancel()
    _ = await cancelled.result
    try await circle.clock.quiet()
    #expect(await bob.withCore { $0.replica.wantedFiles.count == 1 })
    await circle.connect("alice", "bob")
    #expect(try await whileTimePasses(circle) { try await other.value } == .here)
    await circle.close()
  }

  @Test func `status counts the files that no other device has said it holds`() async throws {
    let circle = try await TestCircle("alice", "bob")
    await circle.disconnect("alice", "bob")
    let file = try await attach(100_000, on: "alice", circle)
    let alone = try await circle["alice"].status().files
    #expect((alone.lastCopies, alone.lastCopyBytes) == (1, 100_000))
    await circle.connect("alice", "bob")
    try await eventually("alice learns that bob holds the file", circle) {
      try await circle["alice"].status().files.lastCopies == 0
    }
    let overview = try await circle["alice"].files()
    #expect(overview.items.map(\.bytes) == [100_000])
    #expect(overview.items.first?.records.map(\.name) == ["ticket.pdf"])
    #expect(overview.items.first?.state == .here)
    #expect(try await circle["bob"].fileState(of: file) == .here)
    await circle.close()
  }

  @Test func `waiting until in sync includes the files that a connected device has`() async throws {
    let circle = try await TestCircle("alice", "bob")
    let file = try await attach(2_000_000, on: "alice", circle)
    let bob = circle["bob"]
    try await eventually("bob has the record", circle) { (try? await bob.fileState(of: file)) != nil }
    try await whileTimePasses(circle) { try await bob.waitUntilInSync(timeout: .seconds(60)) }
    #expect(try await bob.fileState(of: file) == .here)
    await circle.close()
  }

  @Test func `the keep policy survives a restart`() async throws {
    let circle = try await TestCircle("alice", storage: .directories)
    try await circle["alice"].setFileKeepPolicy(.upTo(1_000))
    try await circle.reopen("alice")
    #expect(await circle["alice"].fileKeepPolicy == .upTo(1_000))
    await circle.close()
  }
}
