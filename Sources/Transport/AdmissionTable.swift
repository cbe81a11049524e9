// Protocol/channel.md, "Admission".

import Wire

/// Decides which incoming connections a listener keeps. It is a value without clock or randomness of its own.
///
/// ```
///   enter ──▶ unrecognized ──recognize──▶ handshaking ──admit──▶ admitted
///                  │                           │                     │
///                  └── evicted at random ──────┘                     │
///                  └───────────────── remove ──┴─────────────────────┘
/// ```
///
/// No connection ever waits for another one. When there is no room, a random connection of the lower stage is evicted,
/// so that silent strangers can't keep out a member, whose preamble arrives within a round trip.
struct AdmissionTable {
  /// A connection in the table.
  typealias Number = UInt64

  /// The outcome for a connection that has just been accepted.
  enum Entry: Equatable {
    /// It is in the table. The evicted ones are not any more, and the caller closes them.
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
      guard let victim = evict(oneOf: candidates, using: &random) else { return .refused }
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
    guard let row = rows[number], row.stage == .unrecognized else { return [] }
    guard takeAllowance(of: row.origins, at: now) else {
      remove(number)
      return [number]
    }
    var evicted: [Number] = []
    let recognized = rows.count - unrecognized.count
    if handshaking.count >= limits.handshakesMax || recognized >= limits.connectionsMax {
      guard let victim = evict(oneOf: handshaking, using: &random) else {
        remove(number)
        return [number]
      }
      evicted.append(victim)
    }
    unrecognized.removeAll { $0 == number }
    handshaking.append(number)
    rows[number]?.stage = .handshaking
    return evicted
  }

  /// Handles the admission of a member. From now on, the connection is neither evicted nor counted by its origin.
  mutating func admit(_ number: Number) {
    guard let row = rows[number], row.stage == .handshaking else { return }
    handshaking.removeAll { $0 == number }
    release(row.origins)
    rows[number]?.stage = .admitted
  }

  /// Handles the end of a connection. For one that was evicted, it does nothing.
  mutating func remove(_ number: Number) {
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
    evict(oneOf: unrecognized, using: &random)
  }

  // MARK: Helpers

  private mutating func evict(
    oneOf candidates: [Number], using random: inout some RandomNumberGenerator
  ) -> Number? {
    guard !candidates.isEmpty else { return nil }
    // The bias of the remainder is far below one in a billion.
    let victim = candidates[Int(random.next() % UInt64(candidates.count))]
    remove(victim)
    return victim
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
