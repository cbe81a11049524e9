import Wire

/// The actions that wait for their confirmation. A value confirms the action that it was given for, once.
package struct PendingConfirmations: Sendable {
  private struct Pending: Sendable {
    let value: String
    let action: PageAction
    let expires: Int64
  }

  private var pending: [Pending] = []

  package init() {}

  /// - Parameter random: 16 random bytes.
  package mutating func ask(about action: PageAction, random: [UInt8], now: Int64) -> String {
    pending.removeAll { $0.expires <= now }
    if pending.count >= Limits.pageConfirmationsMax { pending.removeFirst() }
    let value = hexadecimal(random)
    pending.append(
      Pending(value: value, action: action, expires: now + Limits.pageConfirmationMilliseconds))
    return value
  }

  /// Whether a value confirms an action.
  package mutating func confirm(_ value: String, _ action: PageAction, now: Int64) -> Bool {
    pending.removeAll { $0.expires <= now }
    guard let index = pending.firstIndex(where: { $0.value == value && $0.action == action }) else {
      return false
    }
    pending.remove(at: index)
    return true
  }
}
