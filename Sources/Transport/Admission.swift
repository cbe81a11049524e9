import Synchronization

/// Counts the accepted connections: all of them, those from each address, and those that are not admitted yet.
final class Admission: Sendable {
  private struct State {
    var total = 0
    /// The connections that are not admitted yet, oldest first.
    var pending: [(slot: AdmissionSlot, since: Int64)] = []
    var perAddress: [String: Int] = [:]
    var listenerWaits = false
    var whenFree: (@Sendable () -> Void)?
  }

  private let limits: ListenerLimits
  private let state = Mutex(State())

  init(_ limits: ListenerLimits) { self.limits = limits }

  /// Sets the callback that reports, after `hasRoom` was false, that a connection was admitted or has ended.
  func whenFree(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.whenFree = body } }

  /// Whether one more unadmitted connection is allowed. Each unadmitted connection is admitted or closed within
  /// seconds, so a caller can wait.
  var hasRoom: Bool {
    state.withLock { state in
      let hasRoom = state.pending.count < limits.unauthenticatedMax
      if !hasRoom { state.listenerWaits = true }
      return hasRoom
    }
  }

  /// Returns a slot for a new connection; nil if there are too many connections in total or from its address.
  func enter(_ address: SocketAddress, at now: Int64 = monotonicMilliseconds()) -> AdmissionSlot? {
    let host = address.neighbourhood
    return state.withLock { state in
      let ofAddress = state.perAddress[host, default: 0]
      guard state.total < limits.connectionsMax,
        address.isLoopback || ofAddress < limits.connectionsPerAddressMax
      else { return nil }
      let slot = AdmissionSlot(self, host: host)
      state.total += 1
      state.pending.append((slot, now))
      state.perAddress[host] = ofAddress + 1
      return slot
    }
  }

  /// Evicts the connection that has been unadmitted longest, if its guaranteed time has passed; otherwise returns
  /// the milliseconds until that time has passed. Returns nil if a connection was evicted or there is none to evict.
  func makeRoom(at now: Int64) -> Int64? {
    let (oldest, wait) = state.withLock { state -> (AdmissionSlot?, Int64?) in
      guard let first = state.pending.first else { return (nil, nil) }
      let wait = first.since + limits.sureMilliseconds - now
      return wait > 0 ? (nil, wait) : (first.slot, nil)
    }
    oldest?.evict()
    return wait
  }

  fileprivate func admitted(_ slot: AdmissionSlot) { change { Self.removePending(slot, &$0) } }

  fileprivate func left(_ slot: AdmissionSlot) {
    change { state in
      state.total -= 1
      Self.removePending(slot, &state)
      let left = state.perAddress[slot.host, default: 1] - 1
      state.perAddress[slot.host] = left == 0 ? nil : left
    }
  }

  private static func removePending(_ slot: AdmissionSlot, _ state: inout State) {
    state.pending.removeAll { $0.slot === slot }
  }

  private func change(_ body: (inout State) -> Void) {
    let wake = state.withLock { state -> (@Sendable () -> Void)? in
      body(&state)
      guard state.listenerWaits else { return nil }
      state.listenerWaits = false
      return state.whenFree
    }
    wake?()
  }
}

/// The slot of one accepted connection.
final class AdmissionSlot: Sendable {
  private struct State {
    var isAdmitted = false
    var hasLeft = false
    var evict: (@Sendable () -> Void)?
  }

  private let admission: Admission
  fileprivate let host: String
  private let state = Mutex(State())

  fileprivate init(_ admission: Admission, host: String) {
    self.admission = admission
    self.host = host
  }

  /// Sets the callback that ends the connection when its slot is needed for another connection.
  func onEviction(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.evict = body } }

  fileprivate func evict() { state.withLock { $0.evict }?() }

  /// Marks the connection as admitted, so that it is no longer a candidate for eviction.
  func admitted() {
    let isFirst = state.withLock { state in
      defer { state.isAdmitted = true }
      return !state.isAdmitted && !state.hasLeft
    }
    if isFirst { admission.admitted(self) }
  }

  func leave() {
    let isFirst = state.withLock { state in
      defer { state.hasLeft = true }
      return !state.hasLeft
    }
    if isFirst { admission.left(self) }
  }
}
