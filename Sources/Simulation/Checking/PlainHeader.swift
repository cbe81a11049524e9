// Protocol/change-set.md, "Header"

/// The decoded header of a change set.
struct PlainHeader {
  let circle: Name32
  let log: PlainLog
  let sequence: UInt64
  let previous: Name32?
  let clock: UInt64
  let dependencies: [PlainDependency]
  let operation: Name16
  let planLength: Int
  let planHash: Name32
  /// The length of the complete values; 0 if the plan has no slots.
  let valuesLength: Int
  /// The hash over the commitments of all slots; nil if the plan has no slots.
  let commitmentsHash: Name32?
  /// The declared sizes of all earlier sets of the log, added up.
  let logBytes: UInt64
  /// The size that this set counts for, whether or not all of its values are present.
  let declaredSize: Int

  init(_ bytes: [UInt8]) throws(PlainRefusal) {
    var map = try PlainMap(bytes, stage: "header")
    _ = try map.unsigned(0, 2...2)
    circle = try map.name32(1)
    let device = try map.name32(2)
    let incarnation = try map.name16(3)
    log = PlainLog(device: device, incarnation: incarnation, lane: Int(try map.unsigned(4, 0...1)))
    sequence = try map.unsigned(5, 1...UInt64(Int64.max))
    previous = try Self.previous(map.take(6), in: bytes)
    guard (previous == nil) == (sequence == 1) else { throw map.wrong(6) }
    clock = try map.unsigned(7, 1...(.max - 1))
    dependencies = try Self.dependencies(map.take(8), of: log, in: bytes)
    operation = try map.name16(9)
    planLength = Int(try map.unsigned(10, 1...262_144))
    planHash = try map.name32(11)
    guard map.has(12) == map.has(13) else { throw map.wrong(map.has(12) ? 13 : 12) }
    valuesLength = map.has(12) ? Int(try map.unsigned(12, 0...262_144)) : 0
    commitmentsHash = try map.has(13) ? map.name32(13) : nil
    logBytes = try map.unsigned(14, 0...(1 << 62))
    try map.end()
    declaredSize = bytes.count + 64 + planLength + valuesLength
    guard sequence > 1 || logBytes == 0 else { throw map.wrong(14) }
    guard declaredSize <= 262_144 else { throw PlainRefusal("header", "a declared size above 256 KiB") }
  }

  /// Returns why a set with this header can't follow another set of its log: `log_bytes` or `clock`; nil if it can.
  func objection(after previous: PlainHeader) -> String? {
    if logBytes != previous.logBytes + UInt64(previous.declaredSize) { return "log_bytes" }
    return clock > previous.clock ? nil : "clock"
  }

  private static func previous(_ item: PlainItem?, in bytes: [UInt8]) throws(PlainRefusal) -> Name32? {
    guard let item else { return nil }
    guard let id = item.name32(in: bytes) else { throw PlainRefusal("header", "an invalid previous id") }
    return id
  }

  private static func dependencies(
    _ item: PlainItem?, of log: PlainLog, in bytes: [UInt8]
  ) throws(PlainRefusal) -> [PlainDependency] {
    guard let item else { return [] }
    guard let items = item.array, (1...64).contains(items.count) else {
      throw PlainRefusal("header", "not a list of 1 to 64 dependencies")
    }
    var found: [PlainDependency] = []
    for item in items {
      let dependency = try dependency(item, in: bytes)
      if let last = found.last, !last.precedes(dependency) {
        throw PlainRefusal("header", "dependencies not in ascending order")
      }
      guard dependency.device != log.device || dependency.incarnation != log.incarnation else {
        throw PlainRefusal("header", "a dependency on its own log")
      }
      found.append(dependency)
    }
    return found
  }

  private static func dependency(
    _ item: PlainItem, in bytes: [UInt8]
  ) throws(PlainRefusal) -> PlainDependency {
    guard let parts = item.array, parts.count == 4, let device = parts[0].name32(in: bytes),
      let incarnation = parts[1].name16(in: bytes), let sequence = parts[2].unsigned,
      sequence >= 1, sequence <= UInt64(Int64.max), let id = parts[3].name32(in: bytes)
    else { throw PlainRefusal("header", "a malformed dependency") }
    return PlainDependency(device: device, incarnation: incarnation, sequence: sequence, id: id)
  }
}

extension PlainDependency {
  fileprivate func precedes(_ other: PlainDependency) -> Bool {
    if device != other.device { return device < other.device }
    if incarnation != other.incarnation { return incarnation < other.incarnation }
    return sequence == other.sequence ? id < other.id : sequence < other.sequence
  }

  func log(lane: Int) -> PlainLog { PlainLog(device: device, incarnation: incarnation, lane: lane) }
}
