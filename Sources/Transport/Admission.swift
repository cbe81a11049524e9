import Synchronization
import Wire

/// Applies the decisions of an `AdmissionTable` to the connections of one listener, from any thread.
final class Admission: Sendable {
  private struct State {
    var table: AdmissionTable
    var random: AnyRandom
    var slots: [AdmissionTable.Number: AdmissionSlot] = [:]

    /// Removes the slots of evicted connections.
    mutating func take(_ numbers: [AdmissionTable.Number]) -> [AdmissionSlot] {
      numbers.compactMap { slots.removeValue(forKey: $0) }
    }
  }

  private let state: Mutex<State>

  init(_ limits: ListenerLimits, random: any RandomNumberGenerator & Sendable) {
    state = Mutex(State(table: AdmissionTable(limits), random: AnyRandom(generator: random)))
  }

  /// Returns a slot for a new connection, for which another one may have to end; nil if there is no room.
  func enter(_ address: SocketAddress) -> AdmissionSlot? {
    let (slot, evicted) = state.withLock { state -> (AdmissionSlot?, [AdmissionSlot]) in
      let entry = state.table.enter(from: AddressOrigin.origins(of: address), using: &state.random)
      guard case .entered(let number, let evicted) = entry else { return (nil, []) }
      let slot = AdmissionSlot(self, number)
      state.slots[number] = slot
      return (slot, state.take(evicted))
    }
    for slot in evicted { slot.evict(.unrecognized) }
    return slot
  }

  /// Ends a random connection that is not admitted, of a stranger if there is one. Returns false if there is none.
  func evictStranger() -> Bool {
    let (slot, stage) = state.withLock { state -> (AdmissionSlot?, EvictionStage) in
      if let number = state.table.evictUnrecognized(using: &state.random) {
        return (state.slots.removeValue(forKey: number), .unrecognized)
      }
      let number = state.table.evictHandshaking(using: &state.random)
      return (number.flatMap { state.slots.removeValue(forKey: $0) }, .handshaking)
    }
    slot?.evict(stage)
    return slot != nil
  }

  /// Handles an authentic preamble. Returns false if the connection may not begin its handshake.
  fileprivate func recognize(_ number: AdmissionTable.Number, _ slot: AdmissionSlot) -> Bool {
    let (isAllowed, evicted) = state.withLock { state -> (Bool, [AdmissionSlot]) in
      let evicted = state.table.recognize(number, at: monotonicMilliseconds(), using: &state.random)
      let slots = state.take(evicted)
      guard !evicted.contains(number) else { return (false, []) }
      // It may have been evicted before.
      state.slots[number] = slot
      return (true, slots)
    }
    for slot in evicted { slot.evict(.handshaking) }
    return isAllowed
  }

  fileprivate func admit(_ number: AdmissionTable.Number) -> Bool {
    state.withLock { $0.table.admit(number) }
  }

  fileprivate func leave(_ number: AdmissionTable.Number) {
    state.withLock { state in
      state.table.remove(number)
      state.slots[number] = nil
    }
  }
}

private struct AnyRandom: RandomNumberGenerator {
  var generator: any RandomNumberGenerator & Sendable

  mutating func next() -> UInt64 { generator.next() }
}

/// The stage from which a connection is evicted.
enum EvictionStage: Sendable {
  /// The connection may go on if its preamble has arrived already.
  case unrecognized
  case handshaking
}

/// The slot of one accepted connection.
final class AdmissionSlot: Sendable {
  private struct State {
    var hasLeft = false
    var evicted: EvictionStage?
    var evict: (@Sendable (EvictionStage) -> Void)?
  }

  private let admission: Admission
  private let number: AdmissionTable.Number
  private let state = Mutex(State())

  fileprivate init(_ admission: Admission, _ number: AdmissionTable.Number) {
    self.admission = admission
    self.number = number
  }

  /// Sets the callback that ends the connection when another one needs its room. If that is the case already, it is
  /// called at once.
  func onEviction(_ body: @escaping @Sendable (EvictionStage) -> Void) {
    let evicted = state.withLock { state in
      state.evict = body
      return state.evicted
    }
    if let evicted { body(evicted) }
  }

  fileprivate func evict(_ stage: EvictionStage) {
    let body = state.withLock { state in
      state.evicted = stage
      return state.evict
    }
    body?(stage)
  }

  /// Reports an authentic preamble. Returns false if the connection may not begin its handshake.
  func recognized() -> Bool { admission.recognize(number, self) }

  /// Reports that the peer is a member, whose connection is not evicted any more. Returns false if there are too many.
  func admitted() -> Bool { admission.admit(number) }

  /// Reports the end of the connection.
  func leave() {
    let isFirst = state.withLock { state in
      defer { state.hasLeft = true }
      return !state.hasLeft
    }
    if isFirst { admission.leave(number) }
  }
}
