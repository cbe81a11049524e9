import Foundation
import Home
import JSONDocument
import Model
import Records
import Replication
import Testing
import WaymarkCare
import WaymarkKinds
import WaymarkTesting
import Wire

@testable import Waymark

/// What errors and lists say of a record without a value that names it.
struct RequiredFieldTests {
  @Test func `the error says which value is missing, in the words of its kind`() async throws {
    let folder = try Folder()
    let file = try folder.write(Array("ticket".utf8), "ticket.txt")
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("lodging.add", fields("trip=Rome", "name=Casa"))
    let cases: [(command: String, pair: String, sentence: String)] = [
      ("trip.add", "notes=sunny", "Every trip needs `name`."),
      ("attachment.add", "file=\(file)", "An attachment needs a lodging, a transportation or an activity"),
      ("attachment.add", "lodging=Casa", "An attachment needs a file."),
    ]
    for (command, pair, sentence) in cases {
      let refused = try #require(try await failure(alice, command, fields(pair)))
      #expect(refused.message.description.contains(sentence), "\(refused.message)")
    }
    #expect(try await alice.run("status")["counts"]?["trips"] == 1)
    await alice.close()
  }

  @Test(
    arguments: [
      ("", "Rome", "Milan", "Rome – Milan"), ("NT 40462", "Rome", "Milan", "NT 40462"), ("", "", "", nil),
      ("", "Rome", "", "Rome"), ("", "", "Milan", "Milan"),
    ] as [(String, String, String, String?)])
  func `a leg without a number is named by its places`(
    number: String, from: String, to: String, expected: String?
  ) async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("transportation.add", fields("trip=Rome", "name=Night train"))
    let train = try #require(try await alice.node.keys(of: [Kind.transportation]).first)
    let leg = RecordKey(kind: KindNumbers.leg, id: RecordID(Bytes16(7, 7)))
    let values: [(field: FieldNumber, value: Value)] = [
      (1, .bytes(train.id.bytes)), (5, .text(from)), (10, .text(to)), (15, .text(number)),
    ]
    _ = try await alice.node.writeTogether([EntryDraft(.insert, leg, values)])
    #expect(try await alice.node.title(of: leg) == expected)
    await alice.close()
  }
}

extension Node {
  fileprivate func title(of key: RecordKey) throws -> String? { try store.title(key) }
}
