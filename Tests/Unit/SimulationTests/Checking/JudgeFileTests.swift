import FileFormat
import Records
import Replication
import Simulation
import Storage
import Testing
import Wire

/// Files: the judge accepts what the chapter allows, and finds each guarantee that is broken once.
@Suite struct JudgeFileTests {
  private let world: JudgedWorld
  private let content = [UInt8](repeating: 7, count: 100_000)
  private let file: FileReference
  private let attachment = key(KindNumbers.attachment, 3)

  init() throws {
    world = try JudgedWorld()
    file = try #require(FileHasher.list(of: content)).reference
  }

  private func expectObjection(
    _ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let violation = #expect(throws: Violation.self, sourceLocation: sourceLocation, performing: body)
    #expect(violation?.rule == .file, "\(violation.map { "\($0)" } ?? "")", sourceLocation: sourceLocation)
  }

  /// Alice attaches the file, and has it.
  private func attach() throws {
    let owner = Value.array([
      .integer(Int64(KindNumbers.lodging.rawValue)), .bytes(lodging(2).id.raw.bytes),
    ])
    try world.write(
      "alice", .records, insert(trip(1), [1: .text("Rome")]),
      insert(lodging(2), [1: .bytes(trip(1).id.raw.bytes), 2: .text("Casa")]),
      insert(attachment, [1: owner, 2: .text("ticket"), 9: file.value]))
    try look(content)
  }

  private func folder(
    _ content: [UInt8]?, named suffix: String = "", finishing: [FileReference] = []
  ) -> FolderView {
    let name = "\(file.id.description.prefix(2))/\(file.id)\(suffix)"
    let sizes = content.map { [name: $0.count] } ?? [:]
    return FolderView(sizes: sizes, hasFailed: false, finishing: finishing.map { "\($0.id)" }) {
      $0 == name ? content : nil
    }
  }

  private func look(_ content: [UInt8]?, named suffix: String = "") throws {
    try world.look("alice")
    try world.judge.lookedAtFiles("alice", folder(content, named: suffix))
  }

  @Test func `a file is deleted when its record was erased, and not before`() throws {
    try attach()
    try world.write("alice", .records, erase(attachment))
    try look(nil)
    try attach()
    expectObjection { try look(nil) }
  }

  @Test func `wrong bytes`() throws {
    var wrong = content
    wrong[70_000] = 8
    expectObjection { try look(wrong) }
  }

  @Test(arguments: ["", ".part", ".leaves"])
  func `what is left of a file that nothing names`(_ suffix: String) throws {
    try attach()
    try world.write("alice", .records, erase(attachment))
    expectObjection { try look(content, named: suffix) }
  }

  @Test func `a file that is being made durable stays until that is done`() throws {
    try attach()
    try world.write("alice", .records, erase(attachment))
    try world.judge.lookedAtFiles("alice", folder(content, named: ".part", finishing: [file]))
    expectObjection { try look(content, named: ".part") }
  }

  @Test func `a file in the trash stays for thirty days`() throws {
    try attach()
    try world.write("alice", .records, delete(trip(1)))
    try look(content)
    world.wall += 31 * 86_400_000
    try look(nil)
  }

  @Test func `a file in the trash is deleted too early`() throws {
    try attach()
    try world.write("alice", .records, delete(trip(1)))
    world.wall += 29 * 86_400_000
    expectObjection { try look(nil) }
  }

  @Test(arguments: [true, false])
  func `only what another device has said it keeps is dropped`(keeps: Bool) throws {
    try attach()
    try world["alice"].store.setKeepPolicy(.onDemand)
    try look(content)
    let here = FilesHere(role: .announcement, keepsAll: keeps, files: [file])
    world.judge.arrived(
      "bob", to: "alice", link: 1, Message.file(.filesHere(here)).encoded, wall: world.wall)
    if keeps { try look(nil) } else { expectObjection { try look(nil) } }
  }

  @Test func `a file that has not arrived although it could`() throws {
    try attach()
    try world.meet()
    let folders = [("alice", folder(content)), ("bob", folder(nil))]
    #expect(try world.judge.misplacedFile(folders.map { (name: $0.0, folder: $0.1) }) != nil)
    try world["bob"].store.setKeepPolicy(.upTo(99_999))
    #expect(try world.judge.misplacedFile(folders.map { (name: $0.0, folder: $0.1) }) == nil)
  }
}
