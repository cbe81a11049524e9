import FileFormat
import Records
import Storage
import Testing
import Wire

@Suite struct FilePolicyTests {
  private static let day: Int64 = 86_400_000

  private static func file(_ size: Int, _ number: UInt64 = 1) -> FileReference {
    guard let file = FileReference(size: size, id: FileID(Bytes32(number, 0, 0, 0))) else {
      preconditionFailure("a size beyond the limit")
    }
    return file
  }

  @Test(
    arguments: [
      (FileNaming.shown, TrashRetention.days(0), 1_000, false),
      (.shown, .forever, 1_000, false),
      (.nothing, .days(30), 0, true),
      (.nothing, .forever, 0, true),
      (.trash(deletedAt: 5), .days(30), 5 + 30 * day - 1, false),
      (.trash(deletedAt: 5), .days(30), 5 + 30 * day, true),
      (.trash(deletedAt: 5), .days(0), 5, true),
      (.trash(deletedAt: 5), .days(0), 4, false),
      (.trash(deletedAt: 5), .forever, 10_000 * day, false),
      (.trash(deletedAt: 400 * day), .days(30), 100 * day, false),
    ] as [(FileNaming, TrashRetention, Int64, Bool)])
  func `a file is freed once nothing shows it and the trash no longer keeps it`(
    naming: FileNaming, retention: TrashRetention, now: Int64, isFreed: Bool
  ) {
    #expect(FileDecision.isFreed(naming, retention, now: now) == isFreed)
  }

  @Test(
    arguments: [
      (FileNaming.shown, FileKeepPolicy.all, false, 0, true),
      (.shown, .onDemand, false, 0, false),
      (.shown, .onDemand, true, 0, true),
      (.shown, .upTo(1_000), false, 900, true),
      (.shown, .upTo(1_000), false, 901, false),
      (.shown, .upTo(1_000), true, 5_000, true),
      (.trash(deletedAt: 0), .all, false, 0, false),
      (.trash(deletedAt: 0), .all, true, 0, true),
      (.nothing, .all, true, 0, false),
    ] as [(FileNaming, FileKeepPolicy, Bool, Int, Bool)])
  func `a file is fetched if the policy or a person wants it`(
    naming: FileNaming, policy: FileKeepPolicy, isAskedFor: Bool, keptBytes: Int, isFetched: Bool
  ) {
    let file = Self.file(100)
    #expect(
      FileDecision.isFetched(file, naming, policy, isAskedFor: isAskedFor, keptBytes: keptBytes) == isFetched)
  }

  @Test func `files are dropped in the order of their last use, and only if another device keeps them`() {
    let files = [
      KeptFile(file: Self.file(400, 1), usedAt: 30, hasKeeper: true),
      KeptFile(file: Self.file(400, 2), usedAt: 10, hasKeeper: false),
      KeptFile(file: Self.file(400, 3), usedAt: 20, hasKeeper: true),
      KeptFile(file: Self.file(0, 4), usedAt: 1, hasKeeper: true),
    ]
    #expect(FileDecision.dropped(files, .all, now: 100 * Self.day) == [])
    #expect(FileDecision.dropped(files, .upTo(1_200), now: 0) == [])
    #expect(FileDecision.dropped(files, .upTo(1_199), now: 0) == [Self.file(400, 3)])
    #expect(FileDecision.dropped(files, .upTo(0), now: 0) == [Self.file(400, 3), Self.file(400, 1)])
  }

  @Test func `on demand, files are dropped after a day without use`() {
    let files = [
      KeptFile(file: Self.file(400, 1), usedAt: 30, hasKeeper: true),
      KeptFile(file: Self.file(400, 2), usedAt: 10, hasKeeper: false),
      KeptFile(file: Self.file(400, 3), usedAt: 20, hasKeeper: true),
    ]
    #expect(FileDecision.dropped(files, .onDemand, now: 25 + Self.day) == [Self.file(400, 3)])
    #expect(FileDecision.dropped(files, .onDemand, now: 19 + Self.day) == [])
  }

  @Test(arguments: ["all", "on-demand", "up-to 0", "up-to 5000000000"])
  func `a keep policy is read as it is written`(text: String) {
    #expect(FileKeepPolicy(text)?.text == text)
  }

  @Test(arguments: ["", "none", "up-to", "up-to -1", "up-to five", "all 5"])
  func `other texts are no keep policy`(text: String) {
    #expect(FileKeepPolicy(text) == nil)
  }
}
