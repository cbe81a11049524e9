import Synchronization

/// Counts accepted connections: all, those not yet judged, and those of each address.
final class Admission: Sendable {
  private struct State {
    var total = 0
    var unjudged = 0
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
      let hasRoom = state.unjudged < limits.unauthenticatedMax
      if !hasRoom { state.someoneWaits = true }
      return hasRoom
    }
  }

  /// A slot, or nil if there are too many in all or of this address.
  func enter(_ address: SocketAddress) -> AdmissionSlot? {
    let entered = state.withLock { state in
      let ofAddress = state.perAddress[address.host, default: 0]
      guard state.total < limits.connectionsMax,
        address.isLoopback || ofAddress < limits.connectionsPerAddressMax
      else { return false }
      state.total += 1
      state.unjudged += 1
      state.perAddress[address.host] = ofAddress + 1
      return true
    }
    return entered ? AdmissionSlot(self, host: address.host) : nil
  }

  fileprivate func admitted() { change { $0.unjudged -= 1 } }

  fileprivate func left(_ host: String, wasAdmitted: Bool) {
    change { state in
      state.total -= 1
      if !wasAdmitted { state.unjudged -= 1 }
      let left = state.perAddress[host, default: 1] - 1
      state.perAddress[host] = left == 0 ? nil : left
    }
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

/// One accepted connection's place. Used on its link's queue only.
final class AdmissionSlot: Sendable {
  private let admission: Admission
  private let host: String
  private let state = Mutex((isAdmitted: false, hasLeft: false))

  init(_ admission: Admission, host: String) {
    self.admission = admission
    self.host = host
  }

  /// Judged and welcome.
  func admitted() {
    let isFirst = state.withLock { state in
      defer { state.isAdmitted = true }
      return !state.isAdmitted && !state.hasLeft
    }
    if isFirst { admission.admitted() }
  }

  func leave() {
    let (isFirst, wasAdmitted) = state.withLock { state in
      defer { state.hasLeft = true }
      return (!state.hasLeft, state.isAdmitted)
    }
    if isFirst { admission.left(host, wasAdmitted: wasAdmitted) }
  }
}
