// Protocol/change-set.md, "Header".

import Wire

extension ChangeSetHeader {
  private enum Key {
    static let version: UInt64 = 0
    static let circle: UInt64 = 1
    static let device: UInt64 = 2
    static let incarnation: UInt64 = 3
    static let lane: UInt64 = 4
    static let sequence: UInt64 = 5
    static let previous: UInt64 = 6
    static let clock: UInt64 = 7
    static let dependencies: UInt64 = 8
    static let operation: UInt64 = 9
    static let planBytes: UInt64 = 10
    static let planHash: UInt64 = 11
    static let valuesBytes: UInt64 = 12
    static let commitmentsHash: UInt64 = 13
    static let logBytes: UInt64 = 14
  }

  package static let version: UInt64 = 2

  package var encoded: [UInt8] {
    var writer = CBORWriter(reserving: 256 + dependencies.count * 90)
    writer.map(
      11 + (previous == nil ? 0 : 1) + (dependencies.isEmpty ? 0 : 1)
        + (content.commitmentsHash == nil ? 0 : 2))
    writer.unsigned(Key.version)
    writer.unsigned(Self.version)
    writer.unsigned(Key.circle)
    writer.byteString(circle.raw)
    writer.unsigned(Key.device)
    writer.byteString(log.device.raw)
    writer.unsigned(Key.incarnation)
    writer.byteString(log.incarnation.raw)
    writer.unsigned(Key.lane)
    writer.unsigned(UInt64(log.lane.rawValue))
    writer.unsigned(Key.sequence)
    writer.unsigned(sequence)
    if let previous {
      writer.unsigned(Key.previous)
      writer.byteString(previous.raw)
    }
    writer.unsigned(Key.clock)
    writer.unsigned(clock.raw)
    if !dependencies.isEmpty {
      writer.unsigned(Key.dependencies)
      writer.array(dependencies.count)
      for dependency in dependencies { dependency.write(to: &writer) }
    }
    writer.unsigned(Key.operation)
    writer.byteString(operation.raw)
    writer.unsigned(Key.planBytes)
    writer.unsigned(UInt64(content.planBytes))
    writer.unsigned(Key.planHash)
    writer.byteString(content.planHash)
    if let commitmentsHash = content.commitmentsHash {
      writer.unsigned(Key.valuesBytes)
      writer.unsigned(UInt64(content.valuesBytes))
      writer.unsigned(Key.commitmentsHash)
      writer.byteString(commitmentsHash)
    }
    writer.unsigned(Key.logBytes)
    writer.unsigned(logBytes)
    return writer.bytes
  }

  package init(decoding bytes: [UInt8]) throws(ChangeSetError) {
    do throws(WireError) {
      self = try Self.parsed(bytes)
    } catch {
      throw .malformed(error)
    }
    try checkRules(headerBytes: bytes.count)
  }

  private static func parsed(_ bytes: [UInt8]) throws(WireError) -> ChangeSetHeader {
    var reader = CBORReader(bytes)
    let count = try reader.map(max: 15)
    var header = ChangeSetHeader(
      circle: CircleID(.zero),
      log: LogKey(device: DeviceKey(.zero), incarnation: Incarnation(.zero), lane: .settings),
      sequence: 0, previous: nil, clock: .zero, dependencies: [], operation: OperationID(.zero),
      logBytes: 0, content: .unknown)
    var device = DeviceKey(.zero)
    var incarnation = Incarnation(.zero)
    var lane = Lane.settings
    var required: Set<UInt64> = [0, 1, 2, 3, 4, 5, 7, 9, 10, 11, 14]
    var hasValuesBytes = false
    var key: UInt64?
    for _ in 0..<count {
      let start = reader.offset
      let next = try reader.nextKey(after: key)
      key = next
      required.remove(next)
      switch next {
      case Key.version:
        guard try reader.unsigned() == version else { throw .unexpected(offset: start) }
      case Key.circle: header.circle = CircleID(try reader.bytes32())
      case Key.device: device = DeviceKey(try reader.bytes32())
      case Key.incarnation: incarnation = Incarnation(try reader.bytes16())
      case Key.lane:
        guard let known = Lane(rawValue: UInt8(try reader.unsigned(max: 1))) else {
          throw .unexpected(offset: start)
        }
        lane = known
      case Key.sequence: header.sequence = try reader.unsigned()
      case Key.previous: header.previous = ChangeSetID(try reader.bytes32())
      case Key.clock: header.clock = Clock(raw: try reader.unsigned())
      case Key.dependencies:
        for _ in 0..<(try reader.array(max: Limits.dependenciesMax)) {
          header.dependencies.append(try Dependency(reading: &reader))
        }
        guard !header.dependencies.isEmpty else { throw .notCanonical(offset: start) }
      case Key.operation: header.operation = OperationID(try reader.bytes16())
      case Key.planBytes:
        header.content.planBytes = try reader.unsigned(max: Limits.setBytesMax)
        guard header.content.planBytes > 0 else { throw .limit(offset: start) }
      case Key.planHash: header.content.planHash = try reader.bytes32()
      case Key.valuesBytes:
        header.content.valuesBytes = try reader.unsigned(max: Limits.setBytesMax)
        hasValuesBytes = true
      case Key.commitmentsHash: header.content.commitmentsHash = try reader.bytes32()
      case Key.logBytes:
        header.logBytes = try reader.unsigned()
        guard header.logBytes <= Limits.logBytesMax else { throw .limit(offset: start) }
      default: throw .unexpected(offset: start)
      }
    }
    guard required.isEmpty, hasValuesBytes == (header.content.commitmentsHash != nil) else {
      throw .unexpected(offset: reader.offset)
    }
    try reader.end()
    header.log = LogKey(device: device, incarnation: incarnation, lane: lane)
    return header
  }

  private func checkRules(headerBytes: Int) throws(ChangeSetError) {
    let bytes = declaredBytes(headerBytes: headerBytes)
    guard bytes <= Limits.setBytesMax else { throw .tooLarge(bytes: bytes) }
    guard sequence >= 1, sequence <= UInt64(Int64.max) else { throw .invalid("a sequence out of range") }
    guard (previous == nil) == (sequence == 1) else { throw .invalid("previous id at sequence \(sequence)") }
    guard sequence > 1 || logBytes == 0 else { throw .invalid("bytes before the first set") }
    guard clock > .zero, clock.raw < .max else { throw .invalid("a clock out of range") }
    for (index, dependency) in dependencies.enumerated() {
      guard dependency.sequence >= 1, dependency.sequence <= UInt64(Int64.max) else {
        throw .invalid("a dependency with a sequence out of range")
      }
      guard (dependency.device, dependency.incarnation) != (log.device, log.incarnation) else {
        throw .invalid("a dependency on the set's own log")
      }
      if index > 0, dependencies[index - 1] >= dependency { throw .invalid("dependencies out of order") }
    }
  }
}

extension Dependency {
  func write(to writer: inout CBORWriter) {
    writer.array(4)
    writer.byteString(device.raw)
    writer.byteString(incarnation.raw)
    writer.unsigned(sequence)
    writer.byteString(id.raw)
  }

  init(reading reader: inout CBORReader) throws(WireError) {
    try reader.array(exactly: 4)
    self.init(
      device: DeviceKey(try reader.bytes32()), incarnation: Incarnation(try reader.bytes16()),
      sequence: try reader.unsigned(), id: ChangeSetID(try reader.bytes32()))
  }
}
