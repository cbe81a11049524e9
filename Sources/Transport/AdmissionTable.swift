// Protocol/channel.md, "Admission".

import Wire

/// Decides which incoming connections a listener keeps. It is a value without clock or randomness of its own.
///
/// ```
///   enter ──▶ unrecognized ──recognize──▶ handshaking ──admit──▶ admitted
///                  │                       ▲   │                     │
///               evicted                    │   │                     │
///                  ▼                       │   │                     │
///               leaving ──────recognize────┘ evicted                 │
///                  └─────────── remove ────────┴──────── remove ─────┘
/// ```
///
/// No connection ever waits for another one. When there is no room, a random connection of the older half of its stage
/// is evicted, so that strangers can't keep out a member, who needs one round trip for each stage. A connection that
/// is evicted before it was recognized may still be: its preamble may have arrived and wait to be read.
struct AdmissionTable {
  /// A connection in the table.
  typealias Number = UInt64

  /// The outcome for a connection that has just been accepted.
  enum Entry: Equatable {
    /// It is in the table. The evicted ones are leaving. The caller reads what has arrived on them, and closes those
    /// that are not recognized even then.
    case entered(Number, evicted: [Number])
    case refused
  }

  private enum Stage { case unrecognized, handshaking, admitted }

  private struct Row {
    var stage = Stage.unrecognized
    let origins: [AddressOrigin]
  }

  private let limits: ListenerLimits
  private var rows: [Number: Row] = [:]
  private var next: Number = 1
  /// The connections of a stage in the order in which they entered it, so that a random choice is repeatable.
  private var unrecognized: [Number] = []
  private var handshaking: [Number] = []
  /// How many connections of an origin are not admitted.
  private var pending: [AddressOrigin: Int] = [:]
  /// Connections that were evicted before they were recognized, and have not been closed yet.
  private var leaving: [Number: [AddressOrigin]] = [:]
  private var allowances: [AddressOrigin: HandshakeAllowance] = [:]

  init(_ limits: ListenerLimits) { self.limits = limits }

  var counts: (unrecognized: Int, handshaking: Int, admitted: Int) {
    (unrecognized.count, handshaking.count, rows.count - unrecognized.count - handshaking.count)
  }

  // MARK: Events

  /// Handles an accepted connection, whose origins are ordered from the narrowest to the widest.
  mutating func enter(
    from origins: [AddressOrigin], using random: inout some RandomNumberGenerator
  ) -> Entry {
    var evicted: [Number] = []
    // An eviction for the sake of one origin makes room in the wider ones too.
    for origin in origins where pending[origin, default: 0] >= limits.pendingMax(of: origin) {
      let candidates = unrecognized.filter { rows[$0]?.origins.contains(origin) == true }
      guard let victim = evictUnrecognized(oneOf: candidates, using: &random) else { return .refused }
      evicted.append(victim)
    }
    if unrecognized.count >= limits.unrecognizedMax, let victim = evictUnrecognized(using: &random) {
      evicted.append(victim)
    }
    let number = next
    next += 1
    rows[number] = Row(origins: origins)
    unrecognized.append(number)
    for origin in origins { pending[origin, default: 0] += 1 }
    return .entered(number, evicted: evicted)
  }

  /// Handles an authentic preamble.
  ///
  /// - Returns: the connections to close: none, an evicted one, or `number` itself if it may not begin its handshake.
  mutating func recognize(
    _ number: Number, at now: Int64, using random: inout some RandomNumberGenerator
  ) -> [Number] {
    guard stay(number) else { return [number] }
    guard let row = rows[number], row.stage == .unrecognized else { return [] }
    guard counts.admitted < limits.connectionsMax, takeAllowance(of: row.origins, at: now) else {
      remove(number)
      return [number]
    }
    var evicted: [Number] = []
    if handshaking.count >= limits.handshakesMax, let victim = evictHandshaking(using: &random) {
      evicted.append(victim)
    }
    unrecognized.removeAll { $0 == number }
    handshaking.append(number)
    rows[number]?.stage = .handshaking
    return evicted
  }

  /// Handles the admission of a member. From now on, the connection is neither evicted nor counted by its origin.
  /// Returns false if it is to be closed, because too many members have been admitted since it was recognized.
  mutating func admit(_ number: Number) -> Bool {
    guard let row = rows[number], row.stage == .handshaking else { return true }
    guard counts.admitted < limits.connectionsMax else {
      remove(number)
      return false
    }
    handshaking.removeAll { $0 == number }
    release(row.origins)
    rows[number]?.stage = .admitted
    return true
  }

  /// Handles the end of a connection. For one that has left the table, it does nothing.
  mutating func remove(_ number: Number) {
    leaving[number] = nil
    guard let row = rows.removeValue(forKey: number) else { return }
    switch row.stage {
    case .unrecognized: unrecognized.removeAll { $0 == number }
    case .handshaking: handshaking.removeAll { $0 == number }
    case .admitted: return
    }
    release(row.origins)
  }

  /// Evicts a random unrecognized connection, because the process has run out of descriptors, say. Returns nil if there
  /// is none.
  mutating func evictUnrecognized(using random: inout some RandomNumberGenerator) -> Number? {
    evictUnrecognized(oneOf: unrecognized, using: &random)
  }

  /// Evicts a random handshaking connection, in the same case, if no connection is unrecognized.
  mutating func evictHandshaking(using random: inout some RandomNumberGenerator) -> Number? {
    guard let victim = victim(among: handshaking, using: &random) else { return nil }
    remove(victim)
    return victim
  }

  // MARK: Helpers

  private mutating func evictUnrecognized(
    oneOf candidates: [Number], using random: inout some RandomNumberGenerator
  ) -> Number? {
    guard let victim = victim(among: candidates, using: &random), let row = rows[victim] else { return nil }
    remove(victim)
    leaving[victim] = row.origins
    return victim
  }

  /// Chooses at random from the older half of these connections, which are ordered by age. The newer half is spared, so
  /// that a member's bytes have time to arrive and to be processed, however fast strangers connect again. The oldest
  /// does not always go, because then strangers could count how many connections push out a member's.
  private func victim(among candidates: [Number], using random: inout some RandomNumberGenerator) -> Number? {
    guard !candidates.isEmpty else { return nil }
    // The bias of the remainder is far below one in a billion.
    return candidates[Int(random.next() % UInt64((candidates.count + 1) / 2))]
  }

  /// Puts a leaving connection back among the unrecognized ones, because its preamble had arrived before it was closed.
  /// Returns false if its origin has no room.
  private mutating func stay(_ number: Number) -> Bool {
    guard let origins = leaving.removeValue(forKey: number) else { return true }
    guard origins.allSatisfy({ pending[$0, default: 0] < limits.pendingMax(of: $0) }) else { return false }
    rows[number] = Row(origins: origins)
    unrecognized.append(number)
    for origin in origins { pending[origin, default: 0] += 1 }
    return true
  }

  private mutating func release(_ origins: [AddressOrigin]) {
    for origin in origins {
      let left = pending[origin, default: 1] - 1
      pending[origin] = left == 0 ? nil : left
    }
  }

  /// Takes one handshake from the allowances of all origins, or from none of them if one is used up.
  private mutating func takeAllowance(of origins: [AddressOrigin], at now: Int64) -> Bool {
    allowances = allowances.filter { !$0.value.isFull(at: now) }
    var taken: [(AddressOrigin, HandshakeAllowance)] = []
    for origin in origins {
      var allowance =
        allowances[origin] ?? HandshakeAllowance(perSecond: limits.pendingMax(of: origin), at: now)
      guard allowance.take(at: now) else { return false }
      taken.append((origin, allowance))
    }
    for (origin, allowance) in taken { allowances[origin] = allowance }
    return true
  }
}

/// The handshakes that an origin may begin: as many at once as in two seconds.
private struct HandshakeAllowance {
  private let perSecond: Int
  /// The time at which the allowance will be full again.
  private var fullAt: Int64

  init(perSecond: Int, at now: Int64) {
    self.perSecond = perSecond
    fullAt = now
  }

  func isFull(at now: Int64) -> Bool { fullAt <= now }

  /// Returns false if nothing is left.
  mutating func take(at now: Int64) -> Bool {
    let taken = max(fullAt, now) + 1_000 / Int64(perSecond)
    guard taken <= now + 2_000 else { return false }
    fullAt = taken
    return true
  }
}
