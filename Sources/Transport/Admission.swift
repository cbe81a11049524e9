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
    for slot in evicted { slot.evict() }
    return slot
  }

  /// Ends a random connection of a stranger. Returns false if there is none.
  func evictStranger() -> Bool {
    let evicted = state.withLock { state in
      let number = state.table.evictUnrecognized(using: &state.random)
      return state.take(number.map { [$0] } ?? [])
    }
    for slot in evicted { slot.evict() }
    return !evicted.isEmpty
  }

  /// Handles an authentic preamble. Returns false if the connection may not begin its handshake.
  fileprivate func recognize(_ number: AdmissionTable.Number) -> Bool {
    let (isAllowed, evicted) = state.withLock { state -> (Bool, [AdmissionSlot]) in
      let evicted = state.table.recognize(number, at: monotonicMilliseconds(), using: &state.random)
      let slots = state.take(evicted)
      return (!evicted.contains(number), evicted.contains(number) ? [] : slots)
    }
    for slot in evicted { slot.evict() }
    return isAllowed
  }

  fileprivate func admit(_ number: AdmissionTable.Number) { state.withLock { $0.table.admit(number) } }

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

/// The slot of one accepted connection.
final class AdmissionSlot: Sendable {
  private struct State {
    var hasLeft = false
    var isEvicted = false
    var evict: (@Sendable () -> Void)?
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
  func onEviction(_ body: @escaping @Sendable () -> Void) {
    let isEvicted = state.withLock { state in
      state.evict = body
      return state.isEvicted
    }
    if isEvicted { body() }
  }

  fileprivate func evict() {
    let body = state.withLock { state in
      state.isEvicted = true
      return state.evict
    }
    body?()
  }

  /// Reports an authentic preamble. Returns false if the connection may not begin its handshake.
  func recognized() -> Bool { admission.recognize(number) }

  /// Reports that the peer is a member, whose connection is not evicted any more.
  func admitted() { admission.admit(number) }

  /// Reports the end of the connection.
  func leave() {
    let isFirst = state.withLock { state in
      defer { state.hasLeft = true }
      return !state.hasLeft
    }
    if isFirst { admission.leave(number) }
  }
}
