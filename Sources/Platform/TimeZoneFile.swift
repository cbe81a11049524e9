// RFC 9636, The Time Zone Information Format (TZif)
//
// A file begins with a block for programs with 32-bit times, which is skipped, then the same with 64 bits, then a line with
// a rule for all times after the last transition:
//
//   header, 32-bit block, header, transition times, types of the transitions, types, names, …, "\nCET-1CEST,M3.5.0,…\n"

/// The rules of a time zone, read from a TZif file of version 2 or later.
struct TimeZoneFile: Hashable, Sendable {
  /// The times of the transitions in ascending order, in seconds since 1970.
  private let times: [Int64]
  /// The number of the type that begins with each transition.
  private let kinds: [UInt8]
  /// The offset of each type, in seconds east of UTC. The first one is that before the first transition.
  private let offsets: [Int32]
  /// The rule for times after the last transition; nil if the last type stays.
  private let rule: TimeZoneRule?

  /// Returns nil if the file is malformed, has only 32-bit times, or counts leap seconds.
  init?(_ bytes: [UInt8]) {
    var reader = Reader(rest: bytes[...])
    guard let skipped = reader.header(), reader.bytes(skipped.blockBytes(timeBytes: 4)) != nil,
      let counts = reader.header(), let times = reader.times(counts.times),
      let kinds = reader.bytes(counts.times), kinds.allSatisfy({ $0 < counts.types }),
      let offsets = reader.offsets(counts), reader.bytes(counts.flagBytes) != nil,
      let line = reader.line(), reader.rest.isEmpty
    else { return nil }
    (self.times, self.kinds, self.offsets) = (times, Array(kinds), offsets)
    guard !line.isEmpty else {
      rule = nil
      return
    }
    guard let rule = TimeZoneRule(line) else { return nil }
    self.rule = rule
  }

  /// Returns the offset at a time, in seconds east of UTC.
  ///
  /// - Parameter time: seconds since 1970.
  func offset(at time: Int64) -> Int {
    if let rule, times.last.map({ $0 <= time }) ?? true { return rule.offset(at: time) }
    // The number of transitions up to this time.
    var (low, high) = (0, times.count)
    while low < high {
      let middle = (low + high) / 2
      if times[middle] <= time { low = middle + 1 } else { high = middle }
    }
    return Int(offsets[low == 0 ? 0 : Int(kinds[low - 1])])
  }
}

/// The numbers of a header: how many of each there are in the block that follows.
private struct Counts {
  let isUT: Int
  let isStandard: Int
  let leapSeconds: Int
  let times: Int
  let types: Int
  let letters: Int

  /// Nil if a count can't be right. The limits are a multiple of what the zones of the world need.
  init?(_ numbers: [Int]) {
    (isUT, isStandard, leapSeconds) = (numbers[0], numbers[1], numbers[2])
    (times, types, letters) = (numbers[3], numbers[4], numbers[5])
    guard leapSeconds == 0, times <= 4_000, (1...256).contains(types), (1...2_048).contains(letters),
      isUT == 0 || isUT == types, isStandard == 0 || isStandard == types
    else { return nil }
  }

  /// The size of the last part of a block, which says how a rule without years applies to the types.
  var flagBytes: Int { isUT + isStandard }

  func blockBytes(timeBytes: Int) -> Int { times * (timeBytes + 1) + types * 6 + letters + flagBytes }
}

private struct Reader {
  var rest: ArraySlice<UInt8>

  mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
    guard count <= rest.count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  /// Reads a number of up to eight bytes, the first of which is the most significant.
  mutating func number(_ count: Int) -> UInt64? { bytes(count)?.reduce(0) { $0 << 8 | UInt64($1) } }

  mutating func header() -> Counts? {
    // The version is a digit; later versions are compatible with 2.
    guard bytes(4)?.elementsEqual("TZif".utf8) == true, let version = number(1),
      0x32...0x39 ~= version, bytes(15) != nil
    else { return nil }
    var numbers: [Int] = []
    for _ in 0..<6 {
      guard let value = number(4) else { return nil }
      numbers.append(Int(value))
    }
    return Counts(numbers)
  }

  /// Reads times, which have to ascend.
  mutating func times(_ count: Int) -> [Int64]? {
    var times: [Int64] = []
    for _ in 0..<count {
      guard let value = number(8) else { return nil }
      let time = Int64(bitPattern: value)
      if let last = times.last, last >= time { return nil }
      times.append(time)
    }
    return times
  }

  /// Reads the types of local time and their names, and returns the offsets.
  mutating func offsets(_ counts: Counts) -> [Int32]? {
    var offsets: [Int32] = []
    for _ in 0..<counts.types {
      guard let value = number(4), let isDaylight = number(1), let name = number(1) else { return nil }
      let offset = Int32(bitPattern: UInt32(value))
      guard (-89_999...93_599).contains(offset), isDaylight <= 1, name < counts.letters else { return nil }
      offsets.append(offset)
    }
    return bytes(counts.letters) == nil ? nil : offsets
  }

  /// Reads the text between two line feeds.
  mutating func line() -> ArraySlice<UInt8>? {
    let feed = UInt8(ascii: "\n")
    guard rest.first == feed, let end = rest.dropFirst().firstIndex(of: feed) else { return nil }
    defer { rest = rest[(end + 1)...] }
    return rest[(rest.startIndex + 1)..<end]
  }
}
