// Protocol/change-set.md, "Slots and values"

/// The values of one copy of a change set, verified against the commitments in the set's header. The copy may lack some
/// of the values.
struct PlainValues {
  /// The content of each slot; nil if it is missing in this copy.
  let contents: [ArraySlice<UInt8>?]

  init(_ bytes: [UInt8], of set: PlainSet) throws(PlainRefusal) {
    try self.init(bytes, set.header, count: set.slots.count)
  }

  /// - Parameter count: the number of slots in the plan.
  init(_ bytes: [UInt8], _ header: PlainHeader, count: Int) throws(PlainRefusal) {
    guard let wanted = header.commitmentsHash, count > 0 else {
      guard bytes.isEmpty, count == 0, header.commitmentsHash == nil else {
        throw PlainRefusal("values", "values or commitments that the plan does not call for")
      }
      contents = []
      return
    }
    let parts: [PlainItem]
    do { parts = try PlainItem.read(bytes).array ?? [] } catch { throw PlainRefusal("values", error.rule) }
    let isSeeded = parts.count == 2
    guard isSeeded || parts.count == 1, let slots = parts.last?.array, slots.count == count else {
      throw PlainRefusal("values", "not one slot for each list of fields")
    }
    guard isSeeded ? bytes.count == header.valuesLength : bytes.count <= header.valuesLength + 36 * count
    else {
      throw PlainRefusal("values", "a length that differs from the declared one")
    }
    let read = try isSeeded ? Self.seeded(parts[0], slots, bytes) : Self.salted(slots, bytes)
    guard PlainSealing.commitmentsHash(read.map(\.commitment)) == wanted else {
      throw PlainRefusal("values", "commitments that the header does not name")
    }
    contents = read.map(\.content)
  }

  private typealias Slot = (commitment: Name32, content: ArraySlice<UInt8>?)

  private static func seeded(
    _ seed: PlainItem, _ slots: [PlainItem], _ bytes: [UInt8]
  ) throws(PlainRefusal) -> [Slot] {
    guard let seed = seed.bytes(in: bytes), seed.count == 16 else {
      throw PlainRefusal("values", "not a seed of 16 bytes")
    }
    let salts = PlainSealing.salts(seed: Array(seed), count: slots.count)
    var read: [Slot] = []
    for (slot, salt) in zip(slots, salts) { read.append(try present(salt, slot, bytes)) }
    return read
  }

  private static func salted(_ slots: [PlainItem], _ bytes: [UInt8]) throws(PlainRefusal) -> [Slot] {
    var read: [Slot] = []
    for slot in slots {
      if let commitment = slot.name32(in: bytes) {
        read.append((commitment, nil))
      } else if let parts = slot.array, parts.count == 2, let salt = parts[0].bytes(in: bytes),
        salt.count == 16
      {
        read.append(try present(salt, parts[1], bytes))
      } else {
        throw PlainRefusal("values", "a slot that is neither present nor missing")
      }
    }
    return read
  }

  private static func present(
    _ salt: ArraySlice<UInt8>, _ item: PlainItem, _ bytes: [UInt8]
  ) throws(PlainRefusal) -> Slot {
    guard let content = item.bytes(in: bytes), content.count <= 262_144 else {
      throw PlainRefusal("values", "not the content of a slot")
    }
    return (PlainSealing.commitment(salt: salt, content), content)
  }

  /// The slots that are missing in this copy.
  var missing: Set<Int> { Set(contents.indices.filter { contents[$0] == nil }) }

  /// Returns the values that a slot's content has for this many fields; nil if the content is anything else than the
  /// canonical array of so many field values. All of these fields are then absent, and the set is valid.
  static func fields(_ content: ArraySlice<UInt8>, count: Int) -> [ArraySlice<UInt8>]? {
    let content = Array(content)
    guard let items = try? PlainItem.read(content).array, items.count == count else { return nil }
    for item in items {
      guard (try? item.checkFieldValue()) != nil else { return nil }
    }
    return items.map { content[$0.range] }
  }
}
