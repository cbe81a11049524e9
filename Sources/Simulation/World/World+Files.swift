import Engine
import FileFormat
import FileStore
import Records
import Replication
import Storage
import VirtualDisk
import Wire

/// Users attach files to records, replace, delete, erase and restore these records, and ask for files that are not
/// here. Everything is drawn from a stream of its own.
extension World {
  func letPeopleUseFiles() {
    later(10 + fileRandom.wait(min(options.peopleEvery, 150)), .filePeople)
    let able = devices.filter { $0.process?.isServing == true }
    guard let device = fileRandom.pick(able), let process = device.process,
      !process.isDiskFull || fileRandom.happens(perThousand: 200)
    else { return }
    switch fileRandom.below(24) {
    case 0..<10: attach(device)
    case 10: attachPicture(device)
    case 11: write(device, "delete", [EntryDraft(.delete, hideable())])
    case 12, 13: write(device, "restore", [EntryDraft(.restore, hideable())])
    case 14, 15: write(device, "erase", [EntryDraft(.erase, attachmentKey())])
    case 16: write(device, "edit", [EntryDraft(.put, attachmentKey(), [(Self.fileField, .null)])])
    case 17: nameFileWithoutIt(device)
    case 18..<22: ask(device, process)
    default: addForNothing(process)
    }
  }

  // MARK: Contents and records

  /// Returns the content with a number: one to six leaves, all different, of bytes that a hole in a file does not have.
  func content(_ number: Int) -> [UInt8] {
    if let content = contents[number] { return content }
    let leaf = Limits.leafBytes
    let sizes = [3 * leaf + 100, 40_000, 2 * leaf, leaf, 5 * leaf + 1, leaf + 1, 33_000, 4 * leaf - 1]
    var content: [UInt8] = []
    content.reserveCapacity(sizes[number % sizes.count])
    while content.count < sizes[number % sizes.count] {
      let byte = UInt8(truncatingIfNeeded: 1 + number * 16 + content.count / leaf)
      content += [UInt8](repeating: byte, count: min(leaf, sizes[number % sizes.count] - content.count))
    }
    contents[number] = content
    watch.judge.knows(content: content)
    return content
  }

  /// The number of the first record of the trip to which all files belong. It is a multiple of the number of kinds.
  private static let firstRecord = 9_600
  private static let fileField: FieldNumber = 9
  private static let pictureField: FieldNumber = 9

  private func attachmentKey() -> RecordKey {
    recordKey(number: Self.firstRecord + 16 * fileRandom.below(min(options.files, 5)) + 5)
  }

  /// Returns the trip, its lodging, or one of the attachments.
  private func hideable() -> RecordKey {
    switch fileRandom.below(8) {
    case 0: recordKey(number: Self.firstRecord)
    case 1: recordKey(number: Self.firstRecord + 1)
    default: attachmentKey()
    }
  }

  /// Returns the drafts of the attachment and, unless they exist, of the records to which it belongs.
  private func drafts(_ device: Device, _ file: Value) -> [EntryDraft] {
    let (trip, lodging) = (
      recordKey(number: Self.firstRecord), recordKey(number: Self.firstRecord + 1)
    )
    let store = device.process?.replicator.store
    var drafts: [EntryDraft] = []
    if (try? store?.record(trip)) == nil { drafts.append(EntryDraft(.insert, trip, [(1, .text("Rome"))])) }
    if (try? store?.record(lodging)) == nil {
      drafts.append(EntryDraft(.insert, lodging, [(1, .bytes(trip.id.raw.bytes)), (2, .text("Inn"))]))
    }
    let key = attachmentKey()
    guard fileRandom.happens(perThousand: 700) || (try? store?.record(key)) == nil else {
      return drafts + [EntryDraft(.put, key, [(Self.fileField, file)])]
    }
    let owner = Value.array([.integer(Int64(lodging.kind.rawValue)), .bytes(lodging.id.raw.bytes)])
    return drafts + [EntryDraft(.insert, key, [(1, owner), (2, .text("ticket")), (Self.fileField, file)])]
  }

  // MARK: Adding

  /// Attaches a file to a record, in the same steps as the node.
  private func attach(_ device: Device) {
    perhapsEndInside(device, perThousand: 100, after: 1..<20)
    add(device) { file in write(device, "attach", drafts(device, file.value)) }
  }

  private func attachPicture(_ device: Device) {
    add(device) { file in
      let fields: [(field: FieldNumber, value: Value)] = [
        (Fields.wholeRecordUpdatedAt, .integer(device.wall)), (2, .text("A")),
        (Self.pictureField, file.value),
      ]
      write(device, "picture", [EntryDraft(.put, FixedRecords.profile, fields)])
    }
  }

  /// Adds a file for an operation that then fails.
  private func addForNothing(_ process: Process) { add(process.device) { _ in } }

  private func add(_ device: Device, _ write: (FileReference) -> Void) {
    guard let process = device.process, !process.isEnded, process.isMember, !process.replicator.isSpent
    else { return }
    let bytes = content(fileRandom.below(options.files))
    let addition = FileAddition(process.replicator.store.files)
    defer {
      if process.isEnded {
        addition.end()
      } else {
        process.replicator.endAddition(addition, now: device.time)
      }
      if !process.isEnded { judged { try $0.stepped(device) } }
    }
    do {
      let file = try addition.write(bytes)
      try addition.place()
      try process.replicator.noteAdded([file], now: device.time)
      tally.count("files added")
      write(file)
    } catch {
      guard !process.isEnded else { return }
      mark("files not added", on: process.device)
      if !(error is FileStoreError) { process.replicator.storeFailed(error) }
    }
  }

  /// Names a file that this device may not have, perhaps with a wrong size, as a program that embeds the node may.
  private func nameFileWithoutIt(_ device: Device) {
    guard let file = FileHasher.list(of: content(fileRandom.below(options.files)))?.reference else { return }
    let sizes = [file.size, 0, 1, file.size + 1, file.size - 1, Limits.fileBytesMax]
    guard let named = FileReference(size: sizes[fileRandom.below(sizes.count)], id: file.id) else { return }
    tally.count("files named with a wrong size", by: named == file ? 0 : 1)
    write(device, "name", drafts(device, named.value))
  }

  // MARK: Asking

  /// A user waits for a file for a while.
  private func ask(_ device: Device, _ process: Process) {
    guard !process.isEnded else { return }
    let store = process.replicator.store
    guard let file = fileRandom.pick((try? store.namedFiles()) ?? []) else { return }
    if (try? store.files.has(file)) == true {
      try? store.noteUsed(file, now: device.wall)
      return
    }
    mark("files asked for", on: device)
    process.replicator.ask(for: file, now: device.time)
    if !process.isEnded { judged { try $0.stepped(device) } }
    later(fileRandom.wait(20_000), .end(.stopAsking(device.number, device.generation, file)))
  }

  func stopAsking(for file: FileReference, _ process: Process) {
    guard !process.isEnded else { return }
    process.replicator.stopAsking(for: file, now: process.device.time)
    if !process.isEnded { judged { try $0.stepped(process.device) } }
  }

  // MARK: Faults

  func files(_ fault: Fault) -> Bool {
    guard let device = fileRandom.pick(running), let process = device.process, !process.isEnded else {
      return false
    }
    log?("  on \(device.name)")
    switch fault {
    case .killInFile: return killInFile()
    case .fullInFile:
      // Too little for another leaf or two.
      device.disk.faults.capacity = device.disk.used + fileRandom.below(3 * Limits.leafBytes)
      later(500 + fileRandom.wait(20_000), .end(.disk(device.number)))
    case .alterLeaf: return alterLeaf(device)
    case .keepPolicy: return changePolicy(device, process)
    case .trashDays:
      let days: [Value] = [.integer(1), .integer(30), .text("never"), .integer(3_650), .integer(0)]
      let fields: [(field: FieldNumber, value: Value)] = [
        (1, .text(TrashRetention.settingKey)), (2, days[fileRandom.below(days.count)]),
      ]
      write(device, "settings", [EntryDraft(.insert, Store.trashDaysKey, fields)])
    default:
      device.clock.change(at: now)
      device.clock.offset += Moment(fileRandom.below(80) - 10) * 86_400_000
      tally.count("clock \(fault)")
    }
    return true
  }

  /// Kills a device soon after it has begun to receive a file.
  private func killInFile() -> Bool {
    let fetching = running.filter { device in
      device.process?.replicator.isExpectingFiles == true && device.disk.faults.changesUntilStop == nil
    }
    guard let device = fileRandom.pick(fetching) else { return false }
    device.isDoomedToPowerLoss = fileRandom.happens(perThousand: 300)
    device.disk.faults.changesUntilStop = fileRandom.logarithmic(1, 30)
    return true
  }

  /// Alters a bit of a file on a disk, as a failing disk does.
  private func alterLeaf(_ device: Device) -> Bool {
    let names = device.disk.names.filter { $0.hasPrefix(DeviceFolder.path) }
    guard let name = fileRandom.pick(names), let size = device.disk.size(of: name), size > 0 else {
      return false
    }
    judged { $0.altered(device, name) }
    return device.disk.flipBit(in: name, byte: fileRandom.below(size), bit: fileRandom.below(8))
  }

  private func changePolicy(_ device: Device, _ process: Process) -> Bool {
    guard process.isServing else { return false }
    let policies: [FileKeepPolicy] = [
      .all, .onDemand, .upTo(fileRandom.logarithmic(30_000, 600_000)),
    ]
    let policy = policies[fileRandom.below(3)]
    do {
      try process.replicator.setKeepPolicy(policy, now: device.time)
    } catch {
      if !process.isEnded { process.replicator.storeFailed(error) }
    }
    if !process.isEnded { judged { try $0.stepped(device) } }
    return true
  }

  // MARK: The end

  /// Runs until all files are where they belong: on every device whose keep policy wants them, if any honest device has
  /// them.
  func settleFiles() throws {
    guard options.files > 0 else { return }
    let deadline = now + Self.settlingMilliseconds
    let last = events + Self.settlingEventsMax
    var nextLook = now
    while now < deadline, events < last {
      if now >= nextLook {
        nextLook = now + 5_000
        if try misplacedFiles() == nil { return }
      }
      guard try step() else { break }
    }
    if let misplaced = try misplacedFiles() { throw Failure(.liveness, misplaced) }
  }

  /// Describes a file that is not where it belongs; nil if there is none.
  private func misplacedFiles() throws -> String? {
    let members = members()
    return try watch.misplacedFile(among: premium(members).map(\.device))
  }

  /// A generous limit: a device that did not deliver a file is avoided for ten minutes, and files are reviewed every hour.
  private static let settlingMilliseconds: Moment = 150 * 60_000
  private static let settlingEventsMax = 400_000
}
