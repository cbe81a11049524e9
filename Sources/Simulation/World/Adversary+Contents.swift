import Records
import Replication
import VirtualDisk
import Wire

/// The plan and the values of a set, encoded without any check.
struct HandmadeContent {
  let plan: [UInt8]
  let values: [UInt8]
  let summary: ContentSummary
}

/// An entry of a handmade plan.
private struct HandmadeEntry {
  var type = EntryType.insert
  let key: RecordKey
  /// The encoded list of fields.
  var fields: [UInt8] = [0x81, 1]
  /// The encoded rank of a whole record.
  var rank: [UInt8] = []
  /// The content of the slot.
  var content: [UInt8]
}

/// The plans and values of invalid change sets, and valid ones that only an adversary writes.
extension World {
  private func content(_ entries: [HandmadeEntry]) -> HandmadeContent {
    var writer = CBORWriter(reserving: 128)
    writer.map(2)
    writer.unsigned(0)
    writer.text("adversary")
    writer.unsigned(2)
    writer.array(entries.count)
    for entry in entries {
      writer.array(entry.rank.isEmpty ? 4 : 6)
      writer.unsigned(UInt64(entry.type.rawValue))
      writer.unsigned(UInt64(entry.key.kind.rawValue))
      writer.byteString(entry.key.id.raw)
      writer.raw(entry.fields)
      writer.raw(entry.rank)
    }
    return content(plan: writer.bytes, entries)
  }

  private func content(plan: [UInt8], _ entries: [HandmadeEntry]) -> HandmadeContent {
    let seed = random16()
    let salts = PlainSealing.salts(seed: seed.bytes, count: entries.count)
    let commitments = zip(salts, entries).map { PlainSealing.commitment(salt: $0, $1.content[...]).bytes }
    var values = CBORWriter(reserving: 128)
    values.array(2)
    values.byteString(seed)
    values.array(entries.count)
    for entry in entries { values.byteString(entry.content) }
    let summary = ContentSummary(
      planBytes: plan.count, planHash: blake2b256(ChangeSetPrefix.plan, plan),
      valuesBytes: values.bytes.count,
      commitmentsHash: blake2b256(ChangeSetPrefix.values, Array(commitments.joined())))
    return HandmadeContent(plan: plan, values: values.bytes, summary: summary)
  }

  /// Returns a content with one insert of one field.
  func plain(_ lane: Lane, word: String = "by hand", key: RecordKey? = nil) -> HandmadeContent {
    content([HandmadeEntry(key: key ?? self.key(lane, 0), content: slot(word))])
  }

  private func slot(_ word: String) -> [UInt8] {
    var writer = CBORWriter(reserving: 32)
    writer.array(1)
    writer.text(word)
    return writer.bytes
  }

  func manySlots(_ lane: Lane) -> HandmadeContent {
    let keys = Set((0..<2 + random.below(8)).map { key(lane, $0) }).sorted()
    return content(keys.map { HandmadeEntry(key: $0, content: slot("slot of \($0)")) })
  }

  /// Returns a content whose plan the format forbids.
  func oddPlan(_ lane: Lane) -> HandmadeContent {
    var entry = HandmadeEntry(key: key(lane, 0), content: slot("odd"))
    let fields: [[UInt8]] = [
      // Field 0, the life; a field number in two bytes; a field twice; fields not in ascending order.
      [0x81, 0], [0x81, 0x18, 1], [0x82, 1, 1], [0x82, 2, 1],
      // A field number above 65,535; a list of indefinite length; a map, as in version 1; a text.
      [0x81, 0x1a, 0, 1, 0, 0], [0x9f, 1, 0xff], [0xa1, 1, 5], [0x61, 0x61],
      // A rank that only whole records have.
      [0x81, 1],
    ]
    let odd = random.below(fields.count + 2)
    if odd < fields.count {
      entry.fields = fields[odd]
      if odd == fields.count - 1 { entry.rank = [1, 1] }
      return content([entry])
    }
    // Two lists of fields for one record; the same entry twice.
    var other = entry
    if odd == fields.count { entry.type = .put } else { other.content = slot("again") }
    return content([entry, other])
  }

  /// Returns a content whose slot does not have what it should have, so that its values are absent. The set is valid.
  func oddSlot(_ lane: Lane) -> HandmadeContent {
    // More levels, and more items, than a value may have.
    let deep = [UInt8](repeating: 0x81, count: 12) + [5]
    let long = [0x81, 0x99, 0x75, 0x30] + [UInt8](repeating: 5, count: 30_000)
    let slots: [[UInt8]] = [
      deep, long,
      // The value 5 in two, three and nine bytes; the length of a text in two bytes; the value -6 in two bytes.
      [0x81, 0x18, 5], [0x81, 0x19, 0, 5], [0x81, 0x1b, 0, 0, 0, 0, 0, 0, 0, 5], [0x81, 0x78, 1, 0x61],
      [0x81, 0x38, 5],
      // An array of indefinite length; text that is not UTF-8; a tag; undefined; a map.
      [0x81, 0x9f, 5, 0xff], [0x81, 0x61, 0xff], [0x81, 0xc1, 5], [0x81, 0xf7], [0x81, 0xa1, 1, 5],
      // Half- and single-precision floats; infinity, NaN and -0.0.
      [0x81, 0xf9, 0x3c, 0], [0x81, 0xfa, 0x3f, 0x80, 0, 0], [0x81, 0xfb, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0],
      [0x81, 0xfb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0], [0x81, 0xfb, 0x80, 0, 0, 0, 0, 0, 0, 0],
      // No array; no value, or two; a trailing byte; a value that is truncated; nothing at all.
      [5], [0x80], [0x82, 5, 6], [0x81, 5, 0], [0x81, 0x62, 0x61], [],
    ]
    var entries = [HandmadeEntry(key: key(lane, 0), content: slots[random.below(slots.count)])]
    // The values of other entries are not affected.
    if random.happens(perThousand: 500) {
      entries.append(HandmadeEntry(key: key(lane, 9), content: slot("readable")))
    }
    return content(entries.sorted { $0.key < $1.key })
  }

  /// Returns a profile that states a rank that its values do not have.
  func falseRank(_ device: Device) -> HandmadeContent {
    var rank = CBORWriter(reserving: 16)
    rank.integer([.max, .min, 0, device.wall, device.wall + 1_000][random.below(5)])
    rank.unsigned(UInt64([0, 1, 65_535][random.below(3)]))
    let entry = HandmadeEntry(
      type: random.happens(perThousand: 500) ? .put : .insert, key: FixedRecords.profile, fields: [0x81, 2],
      rank: rank.bytes, content: slot("false rank \(random.below(3))"))
    return content([entry])
  }

  /// Returns the set with its values in an encoding that the format forbids.
  func oddValues(_ set: RawChangeSet) -> RawChangeSet {
    var values = set.values
    switch random.below(5) {
    // A trailing byte; none at all; the length of the outer list in two bytes; a third part in it; an empty list.
    case 0: values.append(0xf6)
    case 1: values = []
    case 2: values.replaceSubrange(0..<1, with: [0x98, 2])
    case 3:
      values[0] = 0x83
      values.append(0xf6)
    default: values = [0x80]
    }
    return RawChangeSet(header: set.header, signature: set.signature, plan: set.plan, values: values)
  }

  /// Returns a copy of a set in which some values are missing or wrong.
  func changed(_ set: RawChangeSet, _ fault: Fault) -> RawChangeSet {
    guard let verified = try? VerifiedChangeSet(verifying: set) else { return set }
    let slots = Set((0..<verified.body.slots.count).filter { _ in random.happens(perThousand: 500) })
    var values = verified.values(without: slots)
    // The last byte belongs to the content of the last slot, or to its commitment.
    if fault == .otherValues { values[values.count - 1] ^= 1 }
    return RawChangeSet(header: set.header, signature: set.signature, plan: set.plan, values: values)
  }
}
