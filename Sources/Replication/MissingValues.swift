// Protocol/session.md, "Missing values"

package import Wire

// Values that are missing from stored sets.
//
// A set verifies, is stored and is folded without some of its values. The store notes each slot whose content is absent
// although no folded erase explains it. The replica reads some of these sets into memory (the window), and requests
// their slots from the peers that have the sets:
//
//     store: something is missing     isStale = true
//     a lane has become quiet         readMissing ──▶ the store's next sets: window
//     for each quiet lane             want values ──▶ FetchingValues .requested
//     values                          store them: the store checks each against its commitment
//     store: the list has changed     isStale = true
//
// A peer that lacks the slots too, or sends wrong ones, is not asked for them again for an hour, whether it reconnects
// or not (`ValueWants.askedAt`).

/// Some slots of one set.
package struct SetSlots: Hashable, Sendable {
  package let log: LogKey
  package let sequence: UInt64
  package let id: ChangeSetID
  /// The numbers of the slots, ascending.
  package let slots: [Int]

  package init(log: LogKey, sequence: UInt64, id: ChangeSetID, slots: [Int]) {
    self.log = log
    self.sequence = sequence
    self.id = id
    self.slots = slots
  }

  /// The set as a single want.
  var want: Want { Want(log: log, from: sequence, through: sequence, tip: id) }
}

/// The content of a slot with its salt, not yet compared with the commitment.
package struct SlotValue: Hashable, Sendable {
  package let slot: Int
  package let salt: Bytes16
  package let content: [UInt8]

  package init(slot: Int, salt: Bytes16, content: [UInt8]) {
    self.slot = slot
    self.salt = salt
    self.content = content
  }

  /// Whether salt and content are those of a commitment.
  func matches(_ commitment: ArraySlice<UInt8>, _ hash: inout CommitmentHash) -> Bool {
    hash.commitment(salt: salt.bytes[...], content[...]).elementsEqual(commitment)
  }
}

/// The contents of some slots of one set.
package struct SetValues: Hashable, Sendable {
  package let id: ChangeSetID
  /// The slots, by ascending number.
  package let slots: [SlotValue]

  package init(id: ChangeSetID, slots: [SlotValue]) {
    self.id = id
    self.slots = slots
  }
}

/// A stored set of which slots are missing.
package struct MissingSlots: Hashable, Sendable {
  /// The number of the set in the store.
  package let number: Int64
  package let set: SetSlots
  /// The length of the complete values, as the header of the set states it.
  package let valuesBytes: Int

  package init(number: Int64, set: SetSlots, valuesBytes: Int) {
    self.number = number
    self.set = set
    self.valuesBytes = valuesBytes
  }

  /// The expected size of the answer to a request for the slots.
  var answerBytes: Int { valuesBytes + (set.slots.count + 1) * 64 }
}

/// The contents of slots that a peer sent for a set that it was asked for.
package struct ArrivedValues: Hashable, Sendable {
  package let set: SetSlots
  package let values: [SlotValue]

  package init(set: SetSlots, values: [SlotValue]) {
    self.set = set
    self.values = values
  }
}

/// What this node knows of missing slots, across all sessions.
struct ValueWants: Sendable {
  /// Whether the store has missing slots.
  private(set) var isAny = false
  /// Whether the store's list may differ from the window.
  private(set) var isStale = false
  /// Whether the shell is reading the window.
  private(set) var isReading = false
  /// The sets to request from peers, in the order of the store.
  private(set) var window: [MissingSlots] = []
  /// The number of the set after which the window begins.
  private var start: Int64 = 0
  /// When the window was last at the beginning of the store's list, on the steady clock.
  private var beganAt = -Moment.max / 2
  /// When each device was last asked for each set, on the steady clock.
  private var askedAt: [DeviceKey: [ChangeSetID: Moment]] = [:]
  /// A device is remembered to have been asked for at most this many sets.
  private static let askedMax = 16_384

  /// Notes that the store's list has changed.
  mutating func changed(isAny: Bool) {
    self.isAny = isAny
    (isStale, isReading) = (isAny, false)
    if !isAny { (window, start) = ([], 0) }
  }

  /// Begins to read the window, and returns the number of the set after which it begins.
  mutating func read(_ now: Moment) -> Int64 {
    (isStale, isReading) = (false, true)
    if start == 0 { beganAt = now }
    return start
  }

  mutating func filled(_ sets: [MissingSlots]) {
    window = sets
    isReading = false
    // Nothing is left after the last window, for example because the store has renumbered its sets.
    if sets.isEmpty, start > 0 { (start, isStale) = (0, true) }
  }

  /// Moves on to the next sets after every peer was asked for those of the window. After the last set, the window
  /// begins again, but not within an hour.
  mutating func advance(_ now: Moment) {
    guard let last = window.last?.number else { return }
    if window.count == Limits.valuesWantedMax {
      (start, isStale) = (last, true)
    } else if start > 0, now >= beganAt + Limits.valueAgainMilliseconds {
      (start, isStale) = (0, true)
    }
  }

  func mayAsk(_ device: DeviceKey, for id: ChangeSetID, _ now: Moment) -> Bool {
    askedAt[device]?[id].map { now >= $0 + Limits.valueAgainMilliseconds } ?? true
  }

  mutating func noteAsked(_ device: DeviceKey, for ids: [ChangeSetID], _ now: Moment) {
    var asked = askedAt[device] ?? [:]
    if asked.count + ids.count > Self.askedMax {
      asked = asked.filter { now < $0.value + Limits.valueAgainMilliseconds }
    }
    if asked.count + ids.count > Self.askedMax { asked = [:] }
    for id in ids { asked[id] = now }
    askedAt[device] = asked
  }
}

/// This side's request for missing slots from the peer.
enum FetchingValues: Sendable {
  case idle
  case requested([ChangeSetID: SetSlots], dueAt: Moment)
  /// The answer is late. Nothing more is requested until it arrives, or it would be taken for the answer to that.
  case overdue([ChangeSetID: SetSlots])

  /// The sets that the peer can be expected to send.
  var expected: [ChangeSetID: SetSlots] { if case .requested(let sets, _) = self { sets } else { [:] } }

  /// The sets that were requested; nil if there was no request.
  var sets: [ChangeSetID: SetSlots]? {
    switch self {
    case .idle: nil
    case .requested(let sets, _), .overdue(let sets): sets
    }
  }

  var isIdle: Bool { if case .idle = self { true } else { false } }

  var dueAt: Moment? { if case .requested(_, let dueAt) = self { dueAt } else { nil } }
}

/// The peer's request for missing slots, as this side serves it.
enum ServingValues: Sendable {
  case idle
  /// The shell reads the slots, now or once the link has room again.
  case reading([SetSlots])

  var request: [SetSlots]? { if case .reading(let sets) = self { sets } else { nil } }
}

// MARK: Encoding

extension CBORWriter {
  mutating func setSlots(_ sets: [SetSlots]) {
    list(sets) { writer, set in
      writer.array(5)
      writer.byteString(set.log.device.raw)
      writer.byteString(set.log.incarnation.raw)
      writer.unsigned(set.sequence)
      writer.byteString(set.id.raw)
      writer.list(set.slots) { $0.unsigned(UInt64($1)) }
    }
  }

  mutating func setValues(_ sets: [SetValues]) {
    list(sets) { writer, set in
      writer.array(2)
      writer.byteString(set.id.raw)
      writer.list(set.slots) { writer, slot in
        writer.array(3)
        writer.unsigned(UInt64(slot.slot))
        writer.byteString(slot.salt)
        writer.byteString(slot.content)
      }
    }
  }
}

extension CBORReader {
  mutating func setSlots(_ lane: Lane) throws(WireError) -> [SetSlots] {
    let start = offset
    var known = KnownSlots()
    let sets = try list(max: Limits.valueSetsMax) { reader throws(WireError) in
      try reader.array(exactly: 5)
      let log = LogKey(
        device: DeviceKey(try reader.bytes32()), incarnation: Incarnation(try reader.bytes16()), lane: lane)
      let sequence = try reader.sequence(least: 1)
      let id = ChangeSetID(try reader.bytes32())
      var last = -1
      let slots = try reader.list(max: Limits.setEntriesMax) { reader throws(WireError) in
        try reader.slot(after: &last)
      }
      try known.add(id, slots.count, at: start)
      return SetSlots(log: log, sequence: sequence, id: id, slots: slots)
    }
    guard !sets.isEmpty else { throw .unexpected(offset: start) }
    return sets
  }

  mutating func setValues() throws(WireError) -> [SetValues] {
    let start = offset
    var known = KnownSlots()
    return try list(max: Limits.valueSetsMax) { reader throws(WireError) in
      try reader.array(exactly: 2)
      let id = ChangeSetID(try reader.bytes32())
      var last = -1
      let slots = try reader.list(max: Limits.setEntriesMax) { reader throws(WireError) in
        try reader.array(exactly: 3)
        return SlotValue(
          slot: try reader.slot(after: &last), salt: try reader.bytes16(),
          content: try reader.byteString(max: Limits.setBytesMax))
      }
      try known.add(id, slots.count, at: start)
      return SetValues(id: id, slots: slots)
    }
  }

  /// Reads the number of a slot, which must be greater than that of the one before it.
  private mutating func slot(after last: inout Int) throws(WireError) -> Int {
    let start = offset
    let slot = try unsigned(max: Limits.setEntriesMax - 1)
    guard slot > last else { throw .unexpected(offset: start) }
    last = slot
    return slot
  }
}

/// Checks that a message names each set once, with at least one slot, and not too many slots in all.
private struct KnownSlots {
  private var ids: Set<ChangeSetID> = []
  private var count = 0

  mutating func add(_ id: ChangeSetID, _ slots: Int, at offset: Int) throws(WireError) {
    count += slots
    guard slots > 0, ids.insert(id).inserted else { throw .unexpected(offset: offset) }
    guard count <= Limits.valueSlotsMax else { throw .limit(offset: offset) }
  }
}
