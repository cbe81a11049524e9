import Foundation
import JSONDocument
import Records
import Replication
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Model
@testable import Waymark

/// What an attachment takes from its file.
struct AttachmentFieldTests {
  @Test(arguments: [
    ("ticket.pdf", "pdf", "application/pdf"), ("SCAN.PDF", "pdf", "application/pdf"),
    ("photo.JPEG", "jpeg", "image/jpeg"), ("photo.jpg", "jpg", "image/jpeg"), ("a.b.png", "png", "image/png"),
    ("pass.pkpass", "pkpass", "application/vnd.apple.pkpass"), ("trip.ics", "ics", "text/calendar"),
    ("archive.tar.xz", "xz", "application/octet-stream"), ("README", "", "application/octet-stream"),
    ("pdf", "", "application/octet-stream"),
  ])
  func `the type of a file follows from the end of its name, in any case`(
    name: String, end: String, type: String
  ) {
    for isNew in [true, false] {
      let created: Value? = isNew ? .integer(5_000) : nil
      let found = AddedFile.unread(name).fields(now: 5_000, isNew: isNew)
      let fields = Dictionary(uniqueKeysWithValues: found.map { ($0.field, $0.value) })
      let kind = Kind.attachment
      #expect(fields[kind.number("fileName")] == .text(name))
      #expect(fields[kind.number("originalFileName")] == .text(name))
      #expect(fields[kind.number("fileExtension")] == .text(end))
      #expect(fields[kind.number("mimeType")] == .text(type))
      #expect(fields[kind.number("createdDate")] == created)
    }
  }

  @Test func `another file changes what is known of the file, and nothing else`() async throws {
    let (now, folder) = (Wall(TestNode.morning), try Folder())
    let alice = try await TestNode.founder("alice", wall: { now.value })
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("lodging.add", fields("trip=Rome", "name=Casa"))
    let first = try folder.write(Array("%PDF".utf8), "a.PDF")
    let second = try folder.write(Array("two".utf8), "b.txt")
    let id =
      try await alice.run(
        "attachment.add", fields("file=\(first)", "lodging=Casa", "fileDescription=Seat 12"))["id"] ?? .null
    let created = try await alice.run("attachment.show", ["id": id])["createdDate"]
    #expect(created == "2026-05-03T08:00:00Z")
    now.value += 3_600_000
    try await alice.run("attachment.edit", fields("file=\(second)", id: id.string))
    let shown = try await alice.run("attachment.show", ["id": id])
    #expect(
      [shown["fileName"], shown["mimeType"], shown["fileExtension"]] == ["b.txt", "text/plain", "txt"])
    #expect(shown["fileSize"] == 3)
    #expect([shown["createdDate"], shown["fileDescription"]] == [created, "Seat 12"])
    #expect(shown["parentName"] == "Casa")
    let output = folder.file("output")
    try await alice.run("attachment.show", ["id": id, "output": .string(output)])
    #expect(try Data(contentsOf: URL(filePath: output)) == Data("two".utf8))
    // What a person types counts more than the name of the file.
    let typed =
      try await alice.run(
        "attachment.add", fields("file=\(first)", "lodging=Casa", "fileName=Ticket.pdf"))["id"] ?? .null
    let named = try await alice.run("attachment.show", ["id": typed])
    #expect([named["fileName"], named["originalFileName"]] == ["Ticket.pdf", "a.PDF"])
    #expect(named["createdDate"] == "2026-05-03T09:00:00Z")
  }
}
