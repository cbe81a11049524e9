// Protocol/change-set.md, "Values".
//
// The values of a change set lie in slots, one for each entry that writes fields. The header signs one hash over the
// commitments of all slots, so each slot can be given up by itself:
//
//     complete      [seed, [content, content, …]]            the salts derive from the seed
//     with gaps     [[[salt, content], commitment, …]]       a missing slot is its bare commitment
//
// A commitment is a hash of the salt and the content. Without the salt, someone who holds only the commitment can't
// test guesses of an erased value. That is why the seed must be given up together with the first slot.

import Sodium
import Wire

/// The slots of a change set: where each content lies in the bytes of the values, or that it is missing.
package struct Slots: Sendable {
  private struct Slot {
    /// The offset of the salt in the bytes, or of the commitment if the slot is missing; nil if the salt derives from
    /// the seed.
    var word: Int32?
    /// The range of the content; nil if the slot is missing.
    var content: Range<Int32>?
  }

  private var slots: [Slot] = []
  private var seed: Bytes16?
  /// The number of missing slots.
  package private(set) var missingCount = 0

  /// The slots of a set that writes no fields.
  package static let none = Slots()

  private init() {}

  package var count: Int { slots.count }

  /// Whether no slot is missing.
  package var isComplete: Bool { missingCount == 0 }

  /// Returns the range of a slot's content in the bytes of the values; nil if the slot is missing.
  package func content(_ slot: Int) -> Range<Int>? {
    slots[slot].content.map { Int($0.lowerBound)..<Int($0.upperBound) }
  }

  /// Reads the values of a change set, and checks them against what its header states.
  ///
  /// - Throws: `valuesMismatch` if these are not the values of the set, with or without some of its slots.
  init(reading bytes: [UInt8], _ summary: ContentSummary) throws(ChangeSetError) {
    guard let commitmentsHash = summary.commitmentsHash else {
      guard bytes.isEmpty else { throw .valuesMismatch }
      return
    }
    do throws(WireError) {
      try read(bytes)
    } catch {
      throw .valuesMismatch
    }
    let length = summary.valuesBytes
    guard
      seed == nil ? bytes.count <= length + slots.count * Limits.slotBytesMore : bytes.count == length,
      blake2b256(ChangeSetPrefix.values, commitments(in: bytes)) == commitmentsHash
    else { throw .valuesMismatch }
  }

  private mutating func read(_ bytes: [UInt8]) throws(WireError) {
    var reader = CBORReader(bytes)
    let parts = try reader.array(max: 2)
    guard parts > 0 else { throw .unexpected(offset: 0) }
    let isSeeded = parts == 2
    if isSeeded { seed = try reader.bytes16() }
    let count = try reader.array(max: Limits.setEntriesMax)
    // A set without slots has no commitments, and its values are empty.
    guard count > 0 else { throw .unexpected(offset: 0) }
    slots.reserveCapacity(count)
    for _ in 0..<count {
      if isSeeded {
        slots.append(Slot(word: nil, content: try Self.content(&reader)))
      } else if try reader.peek() >> 5 == 4 {
        try reader.array(exactly: 2)
        let salt = try reader.byteStringRange(max: Bytes16.count)
        guard salt.count == Bytes16.count else { throw .unexpected(offset: salt.lowerBound) }
        slots.append(Slot(word: Int32(salt.lowerBound), content: try Self.content(&reader)))
      } else {
        let commitment = try reader.byteStringRange(max: Bytes32.count)
        guard commitment.count == Bytes32.count else { throw .unexpected(offset: commitment.lowerBound) }
        slots.append(Slot(word: Int32(commitment.lowerBound), content: nil))
        missingCount += 1
      }
    }
    try reader.end()
  }

  private static func content(_ reader: inout CBORReader) throws(WireError) -> Range<Int32> {
    let range = try reader.byteStringRange(max: Limits.setBytesMax)
    return Int32(range.lowerBound)..<Int32(range.upperBound)
  }

  /// Returns the commitments of all slots, one after another.
  private func commitments(in bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(slots.count * Bytes32.count)
    eachCommitment(in: bytes) { result.append(contentsOf: $0) }
    return result
  }

  private func eachCommitment(in bytes: [UInt8], _ body: (ArraySlice<UInt8>) -> Void) {
    var salts = seed.map(Salts.init)
    var hash = CommitmentHash()
    for (index, slot) in slots.enumerated() {
      guard let content = slot.content else {
        let start = Int(slot.word ?? 0)
        body(bytes[start..<start + Bytes32.count])
        continue
      }
      let range = Int(content.lowerBound)..<Int(content.upperBound)
      if let start = slot.word.map(Int.init) {
        body(hash.commitment(salt: bytes[start..<start + Bytes16.count], bytes[range])[...])
      } else if let salt = salts?[index] {
        body(hash.commitment(salt: salt, bytes[range])[...])
      }
    }
  }

  // MARK: Giving up slots

  /// Returns the values without some of their slots. The header and the signature of the set stay valid.
  ///
  /// - Parameters:
  ///   - gone: the slots to replace by their commitments.
  package func values(_ bytes: [UInt8], without gone: Set<Int>) -> [UInt8] {
    guard !gone.isEmpty else { return bytes }
    var salts = seed.map(Salts.init)
    var hash = CommitmentHash()
    var writer = CBORWriter(reserving: bytes.count + slots.count * Limits.slotBytesMore)
    writer.array(1)
    writer.array(slots.count)
    for (index, slot) in slots.enumerated() {
      let word = slot.word.map(Int.init)
      guard let content = content(index) else {
        let start = word ?? 0
        writer.byteString(bytes[start..<start + Bytes32.count])
        continue
      }
      let salt = word.map { bytes[$0..<$0 + Bytes16.count] } ?? salts?[index] ?? []
      if gone.contains(index) {
        writer.byteString(hash.commitment(salt: salt, bytes[content]))
      } else {
        writer.array(2)
        writer.byteString(salt)
        writer.byteString(bytes[content])
      }
    }
    return writer.bytes
  }
}

extension Slots {
  // MARK: Filling slots

  /// The result of adding contents to missing slots.
  package struct Filling: Sendable {
    /// The values with the contents that match, in salted form; nil if none was added.
    package var values: [UInt8]?
    package var filled: Set<Int> = []
    /// Whether a content did not match its commitment.
    package var hasWrong = false
  }

  /// Adds contents to missing slots, each of which must match the commitment that stands in its place.
  ///
  /// - Parameters:
  ///   - bytes: the values of the set as they are stored.
  ///   - contents: contents of slots in any order. Slots that are not missing, or that the set does not have, are
  ///     ignored.
  ///   - summary: what the header states about the values. Contents that would make the values longer than the header
  ///     allows are not added.
  package func filled(_ bytes: [UInt8], with contents: [SlotValue], _ summary: ContentSummary) -> Filling {
    var filling = Filling()
    var added: [Int: SlotValue] = [:]
    var hash = CommitmentHash()
    for content in contents where slots.indices.contains(content.slot) && slots[content.slot].content == nil {
      let start = Int(slots[content.slot].word ?? 0)
      if content.matches(bytes[start..<start + Bytes32.count], &hash) {
        added[content.slot] = content
      } else {
        filling.hasWrong = true
      }
    }
    guard !added.isEmpty else { return filling }
    let values = self.values(bytes, with: added)
    guard (try? Slots(reading: values, summary)) != nil else { return filling }
    filling.values = values
    filling.filled = Set(added.keys)
    return filling
  }

  private func values(_ bytes: [UInt8], with added: [Int: SlotValue]) -> [UInt8] {
    var writer = CBORWriter(
      reserving: bytes.count + added.values.reduce(0) { $0 + $1.content.count + Limits.slotBytesMore })
    writer.array(1)
    writer.array(slots.count)
    for (index, slot) in slots.enumerated() {
      let start = Int(slot.word ?? 0)
      if let content = content(index) {
        writer.array(2)
        writer.byteString(bytes[start..<start + Bytes16.count])
        writer.byteString(bytes[content])
      } else if let content = added[index] {
        writer.array(2)
        writer.byteString(content.salt)
        writer.byteString(content.content)
      } else {
        writer.byteString(bytes[start..<start + Bytes32.count])
      }
    }
    return writer.bytes
  }

  /// Returns the content of a slot with its salt; nil if the slot is missing, or if there is no such slot.
  package func value(_ slot: Int, in bytes: [UInt8]) -> SlotValue? {
    guard slots.indices.contains(slot), let content = content(slot) else { return nil }
    var salts = seed.map(Salts.init)
    let salt = slots[slot].word.map { bytes[Int($0)..<Int($0) + Bytes16.count] } ?? salts?[slot] ?? []
    return Bytes16(Array(salt)).map { SlotValue(slot: slot, salt: $0, content: Array(bytes[content])) }
  }
}

/// The salts of a set's slots, four of which derive from one hash of the seed.
struct Salts {
  private var message: [UInt8]
  private var block: (number: Int, bytes: [UInt8])?

  init(seed: Bytes16) {
    message = ChangeSetPrefix.salts.bytes + seed.bytes + [0, 0, 0, 0]
  }

  /// Returns the salt of a slot, 16 bytes.
  subscript(slot: Int) -> ArraySlice<UInt8> {
    mutating get {
      let number = slot / 4
      if block?.number != number {
        let end = message.count
        for byte in 0..<4 { message[end - 1 - byte] = UInt8(truncatingIfNeeded: number >> (8 * byte)) }
        block = (number, Blake2b512.hash(message))
      }
      let start = slot % 4 * Bytes16.count
      return (block?.bytes ?? [])[start..<start + Bytes16.count]
    }
  }
}

/// Hashes slots to commitments, in a buffer that is used again for each slot.
struct CommitmentHash {
  private var buffer = ChangeSetPrefix.commitment.bytes

  mutating func commitment(salt: ArraySlice<UInt8>, _ content: ArraySlice<UInt8>) -> [UInt8] {
    buffer.removeLast(buffer.count - ChangeSetPrefix.commitment.bytes.count)
    buffer.append(contentsOf: salt)
    buffer.append(contentsOf: content)
    return Blake2b256.bytes(Blake2b256.hash(buffer))
  }
}
