import Synchronization

/// Counts accepted connections: all, those not yet judged, and those of each address.
final class Admission: Sendable {
  private struct State {
    var total = 0
    /// Those not judged yet, the oldest first.
    var unjudged: [(slot: AdmissionSlot, since: Int64)] = []
    var perAddress: [String: Int] = [:]
    var someoneWaits = false
    var whenFree: (@Sendable () -> Void)?
  }

  private let limits: ListenerLimits
  private let state = Mutex(State())

  init(_ limits: ListenerLimits) { self.limits = limits }

  /// Is called when there is room again after `hasRoom` was false.
  func whenFree(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.whenFree = body } }

  /// Whether one more may be unjudged. They are gone within seconds, so the next can wait for that.
  var hasRoom: Bool {
    state.withLock { state in
      let hasRoom = state.unjudged.count < limits.unauthenticatedMax
      if !hasRoom { state.someoneWaits = true }
      return hasRoom
    }
  }

  /// A slot, or nil if there are too many in all or of this address.
  func enter(_ address: SocketAddress, at now: Int64 = monotonicMilliseconds()) -> AdmissionSlot? {
    let host = address.neighbourhood
    return state.withLock { state in
      let ofAddress = state.perAddress[host, default: 0]
      guard state.total < limits.connectionsMax,
        address.isLoopback || ofAddress < limits.connectionsPerAddressMax
      else { return nil }
      let slot = AdmissionSlot(self, host: host)
      state.total += 1
      state.unjudged.append((slot, now))
      state.perAddress[host] = ofAddress + 1
      return slot
    }
  }

  /// Ends the connection that has been unjudged longest, if it has had its time; else in how many milliseconds it
  /// will have had it. Nil when one was ended, or none is left to end.
  func makeRoom(at now: Int64) -> Int64? {
    let (oldest, wait) = state.withLock { state -> (AdmissionSlot?, Int64?) in
      guard let first = state.unjudged.first else { return (nil, nil) }
      let wait = first.since + limits.sureMilliseconds - now
      return wait > 0 ? (nil, wait) : (first.slot, nil)
    }
    oldest?.evict()
    return wait
  }

  fileprivate func admitted(_ slot: AdmissionSlot) { change { Self.judged(slot, &$0) } }

  fileprivate func left(_ slot: AdmissionSlot) {
    change { state in
      state.total -= 1
      Self.judged(slot, &state)
      let left = state.perAddress[slot.host, default: 1] - 1
      state.perAddress[slot.host] = left == 0 ? nil : left
    }
  }

  private static func judged(_ slot: AdmissionSlot, _ state: inout State) {
    state.unjudged.removeAll { $0.slot === slot }
  }

  private func change(_ body: (inout State) -> Void) {
    let wake = state.withLock { state -> (@Sendable () -> Void)? in
      body(&state)
      guard state.someoneWaits else { return nil }
      state.someoneWaits = false
      return state.whenFree
    }
    wake?()
  }
}

/// One accepted connection's place.
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

  /// What ends the connection if its place is needed.
  func onEviction(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.evict = body } }

  fileprivate func evict() { state.withLock { $0.evict }?() }

  /// Judged and welcome.
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
