import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

@testable import Control
@testable import Waymark

/// What commands change on the node that performs them, and what they say of it.
struct CommandEffectTests {
  @Test func `the keep policy is shown and changed, and a change is told from a repetition`() async throws {
    let alice = try await TestNode.founder("alice")
    let calls: [(arguments: JSON, keep: String, changed: Bool)] = [
      ([:], "all", false), (["policy": "up-to", "size": "2GB"], "up-to 2000000000", true),
      (["policy": "up-to", "size": "2 GB"], "up-to 2000000000", false), ([:], "up-to 2000000000", false),
      (["policy": "up-to", "size": "2GiB"], "up-to 2147483648", true),
      (["policy": "on-demand"], "on-demand", true), (["policy": "all"], "all", true),
    ]
    for (index, call) in calls.enumerated() {
      let answer = try await alice.run("files.keep", call.arguments)
      #expect(answer["keep"] == .string(call.keep), "call \(index)")
      #expect(answer["changed"] == .bool(call.changed), "call \(index)")
    }
    await alice.close()
  }

  @Test func `a quota is granted as it was typed, in the lane that was named`() async throws {
    let alice = try await TestNode.founder("alice")
    let records = try await alice.run("grant", ["device": "alice", "size": "2GiB"])
    #expect(records["lane"] == "records" && records["name"] == "alice")
    #expect(records["previous"] == 1_073_741_824 && records["quota"] == 2_147_483_648)
    let settings = try await alice.run("grant", ["device": "alice", "size": "8MB", "settings": true])
    #expect(settings["lane"] == "settings")
    #expect(settings["previous"] == 4_194_304 && settings["quota"] == 8_000_000)
    await alice.close()
  }

  @Test func `the log level of a running node is shown and changed, and an unknown one changes nothing`()
    async throws
  {
    let test = try TestHome()
    _ = try Node.initialize(home: test.home, name: "alice")
    let heard = Heard<String>()
    let log = NodeLog(least: .info) { _, area, message in if area == "log" { heard.note(message) } }
    let node = try Node(home: test.home, log: log)
    try await node.serve(listen: "127.0.0.1:0")
    let calls: [(level: String?, before: String, after: String)] = [
      (nil, "info", "info"), ("debug", "info", "debug"), ("debug", "debug", "debug"),
      (nil, "debug", "debug"), ("error", "debug", "error"),
    ]
    for (index, call) in calls.enumerated() {
      var arguments: JSON = [:]
      if let level = call.level { arguments["level"] = .string(level) }
      let answer = try await node.run("logging.level", arguments)
      #expect(answer["before"] == .string(call.before), "call \(index)")
      #expect(answer["level"] == .string(call.after), "call \(index)")
    }
    let loud = await #expect(throws: WaymarkError.self) {
      try await node.run("logging.level", ["level": "loud"])
    }
    #expect(loud?.code == .badValue)
    #expect(try await node.run("logging.level")["level"] == "error")
    #expect(log.level == .error)
    // Each change is in the log, whatever the level is.
    #expect(heard.all == ["log level set to debug", "log level set to error"])
    await node.close()
  }

  @Test func `the files of a device are listed by size, with the records that name them`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let trip = try await node.save(Trip(name: "Rome"))
    let hotel = try await node.save(Lodging(name: "Casa", tripID: trip.id))
    for (index, size) in [60_000, 200_000, 100_000].enumerated() {
      let bytes = Data(repeating: UInt8(index + 1), count: size)
      try await node.attach(bytes, named: "\(size).bin", to: .lodging(hotel.id))
    }
    let most = try await node.files(limit: 2)
    #expect(most.items.map(\.bytes) == [200_000, 100_000])
    #expect(most.items.map { $0.records.map(\.name) } == [["200000.bin"], ["100000.bin"]])
    #expect(most.items.map(\.state) == [.here, .here])
    #expect(most.items.map { $0.used?.milliseconds } == [TestNode.morning, TestNode.morning])
    #expect(most.totals.here == 3 && most.totals.bytes == 360_000 && most.totals.missing == 0)
    #expect(try await node.files(limit: 0).items.isEmpty)
    #expect(try await node.files().items.map(\.bytes) == [200_000, 100_000, 60_000])
    // The command line reads the same from the socket.
    let sent = try AnswerCoding.encode(most)
    #expect(try AnswerCoding.decode(FileOverview.self, from: sent) == most)
    await alice.close()
  }

  @Test func `a file that is given twice is attached twice, and stored once`() async throws {
    let (alice, folder) = (try await TestNode.founder("alice"), try Folder())
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("lodging.add", fields("trip=Rome", "name=Casa"))
    let path = try folder.write([UInt8](repeating: 7, count: 50_000), "ticket.pdf")
    let added = try await alice.run(
      "attachment.add", fields("file=\(path)", "file=\(path)", "lodging=Casa"))
    #expect(added["ids"]?.array?.count == 2 && added["ids"]?[0] != added["ids"]?[1])
    let listed = try await alice.run("attachment.list")["attachments"]?.array ?? []
    #expect(listed.map { $0["fileName"] } == ["ticket.pdf", "ticket.pdf"])
    #expect(listed.map { $0["fileSize"] } == [50_000, 50_000])
    let overview = try await alice.node.files()
    #expect(overview.totals.here == 1 && overview.items.map(\.bytes) == [50_000])
    #expect(overview.items.first?.records.count == 2)
    await alice.close()
  }

  @Test func `a picture that is too large is refused, and the present one stays`() async throws {
    let alice = try await TestNode.founder("alice")
    let picture = Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0) })
    try await alice.node.setAvatar(picture)
    let tooLarge = try await refusal { try await alice.node.setAvatar(Data(count: (16 << 20) + 1)) }
    #expect(tooLarge == "bad_value")
    #expect(try await alice.node.avatar() == picture)
    await alice.close()
  }
}
