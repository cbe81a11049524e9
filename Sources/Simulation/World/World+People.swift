import Engine
import Membership
import Records
import Replication
import Storage
import VirtualDisk
import Wire

/// The actions of users on their devices. Users write to only a few records, so that their writes conflict.
extension World {
  func letPeopleAct() {
    later(random.wait(options.peopleEvery), .people)
    let able = devices.filter { $0.process?.isServing == true }
    guard let device = random.pick(able) else { return }
    // Users sometimes try to write even if the disk is full, and are refused.
    guard device.process?.isDiskFull == false || random.happens(perThousand: 200) else { return }
    act(at: device)
  }

  /// Sometimes makes a user act as soon as a disk has room again, before anything else arrives.
  func tryAgain(_ device: Device) {
    if !isHealing, random.happens(perThousand: 500) { act(at: device) }
  }

  private func act(at device: Device) {
    if random.happens(perThousand: options.large) { return writeMuch(device) }
    switch random.below(20) {
    case 0..<7: write(device, "edit", [edit(device)].compactMap { $0 })
    case 7..<10: write(device, "add", (0...random.below(3)).map { _ in insert() })
    case 10..<12: write(device, "delete", [EntryDraft(.delete, recordKey())])
    case 12 where random.happens(perThousand: 300): eraseRecords(device)
    case 12: write(device, "restore", [EntryDraft(.restore, recordKey())])
    case 13: write(device, "settings", [setting()])
    case 14: writeProfile(device)
    case 15: random.happens(perThousand: 300) ? writeProfile(device) : importProfile(device)
    case 16 where random.happens(perThousand: 300): undo(device)
    case 16 where random.happens(perThousand: 50): rebuild(device)
    case 16: write(device, "mixed", [insert(), setting()])
    case 17: write(device, "many", (0..<1 + random.logarithmic(1, 1_500)).map { insert(number: 1_000 + $0) })
    case 18 where random.happens(perThousand: 600): ask(device)
    case 18: write(device, "again", [insert(number: random.below(options.records))])
    default:
      write(device, "none", [EntryDraft(.put, FixedRecords.none, [(1, .text("X")), (2, .text(word()))])])
    }
  }

  /// Writes more than is pushed to peers, so that they learn the heads first and then request the sets.
  func writeMuch(_ device: Device) {
    let drafts = (0..<5).map { number in
      EntryDraft(
        .insert, recordKey(number: 5_000 + number),
        [(1, .bytes((0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }))])
    }
    write(device, "much", drafts)
  }

  /// Erases records, which removes their values from the stores of all devices.
  private func eraseRecords(_ device: Device) {
    mark("erases", on: device)
    perhapsEndInside(device)
    write(device, "erase", erase(device))
    if device.process?.isEnded == true { mark("killed inside an erase", on: device) }
  }

  func writeLastWord(_ device: Device, alsoSettings: Bool = true) {
    write(device, "last", [insert()] + (alsoSettings ? [setting()] : []))
  }

  /// Asks peers what they hold, as do the commands that compare two stores or preview sync.
  private func ask(_ device: Device) {
    guard let process = device.process else { return }
    let lane: Lane = random.happens(perThousand: 700) ? .records : .settings
    for link in process.links.keys.sorted() {
      guard process.replicator.replica.sessions[link]?.device != nil,
        process.askedAt[link].map({ now > $0 + 10_000 }) ?? true
      else { continue }
      let after = random.happens(perThousand: 300) ? recordKey() : nil
      let question: Question =
        switch random.below(4) {
        case 0: .heads
        case 1: .digests
        case 2: .bucket(recordKey().id.bucket, after: after)
        default: .inventory(after: after)
        }
      process.askedAt[link] = now
      process.receive(.input(.ask(link, lane, question)))
      tally.count("asked")
    }
  }

  /// Writes an undo of a recent operation, which may not have arrived on this device yet.
  private func undo(_ device: Device) {
    guard let target = random.pick(operations.suffix(20)) else { return }
    write(device, "undo", [edit(device)].compactMap { $0 }, target: target)
  }

  /// Folds the log again into new tables, which must equal the old ones.
  private func rebuild(_ device: Device) {
    guard let process = device.process, !process.isEnded else { return }
    perhapsEndInside(device)
    do { try process.replicator.rebuild(now: device.time) } catch {
      if process.isEnded { mark("killed inside a rebuild", on: device) }
      return process.isEnded ? () : process.replicator.storeFailed(error)
    }
    mark("rebuilt", on: device)
    if !process.isEnded { judged { try $0.stepped(device) } }
  }

  /// Writes changes, and reports them to the judge as acknowledged if the device accepts them.
  func write(
    _ device: Device, _ verb: String, _ drafts: [EntryDraft], leastClock: Clock = .zero,
    target: OperationID? = nil
  ) {
    guard let process = device.process, !process.isEnded, !drafts.isEmpty, !process.replicator.isSpent,
      // As in the node, a revoked device can no longer write.
      process.isMember
    else { return }
    if process.isDiskFull { process.lookAtDisk() }
    guard !process.isEnded else { return }
    let operation = OperationDraft(id: OperationID(random16()), verb: verb, target: target)
    operations.append(operation.id)
    do {
      let sets = try process.replicator.write(
        operation, merged(drafts), leastClock: leastClock, now: device.time)
      guard !process.isEnded else { return }
      tally.count("writes")
      acknowledged(device, sets)
    } catch {
      guard !process.isEnded else { return }
      mark("refused writes", on: device)
      if !(error is WriteRefusal || error is ChangeSetError) { process.replicator.storeFailed(error) }
    }
  }

  private func acknowledged(_ device: Device, _ sets: [ChangeSetID]) {
    guard device.isHonest else { return }
    judged { try $0.acknowledged(device, sets) }
  }

  /// Keeps the first draft of each record: a transaction writes a record once. An erase may follow the values that it
  /// leaves.
  private func merged(_ drafts: [EntryDraft]) -> [EntryDraft] {
    var seen: [RecordKey: EntryType] = [:]
    return drafts.filter { draft in
      let isFirst = seen[draft.key] == nil
      let erasesOlder = draft.type == .erase && seen[draft.key]?.writesFields == true
      if isFirst || erasesOlder { seen[draft.key] = draft.type }
      return isFirst || erasesOlder
    }
  }
}
