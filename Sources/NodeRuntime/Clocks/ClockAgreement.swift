import Enrolment
import Platform
import Home
import Membership
import Model
import Reasons
package import Replication
package import Storage
import Wire

/// Judges whether this machine's wall clock is right, based on its peers' clocks and the dates of change sets.
package struct ClockAgreement {
  let store: Store
  let sessions: [Session]
  let device: DeviceKey
  let names: DeviceNames
  let now: Moment

  /// Whether this machine's clock is thought to be right.
  package enum Verdict {
    /// Most connected peers' clocks agree with this machine's clock to within ten minutes.
    case confirmed
    /// No peer is connected, and no change set from another device contradicts this machine's clock.
    case unknown
    /// At least half of the connected peers disagree with this machine's clock; or none is connected, and another
    /// device's change sets are dated more than ten minutes ahead of it. The value is the time according to those
    /// peers or change sets.
    case disputed(Moment)
  }

  package var verdict: Verdict {
    let skews = sessions.filter { !$0.isClosing }.compactMap(\.clockSkew).sorted()
    if !skews.isEmpty {
      let agreeing = skews.count { abs($0) <= Limits.clockDriftMilliseconds }
      if 2 * agreeing > skews.count { return .confirmed }
      let differing = skews.filter { abs($0) > Limits.clockDriftMilliseconds }
      return .disputed(now + differing[differing.count / 2])
    }
    let newest = store.newestClock(otherThan: device).milliseconds
    return newest > now + Limits.clockDriftMilliseconds ? .disputed(newest) : .unknown
  }

  /// Returns our own logs whose newest sets are dated so far ahead that other devices don't fold them yet.
  package func logsAhead() throws -> [EndedLog] {
    try store.logsAhead(
      of: device, horizon: Clock(milliseconds: now + Limits.clockDriftMilliseconds))
  }

  /// Returns the notice that this machine's clock ran ahead; nil if it did not, or if the clock is disputed.
  func aheadNotice() throws -> NodeStatus.Notice? {
    let ended = try logsAhead()
    guard !ended.isEmpty else { return nil }
    let newest = store.newestClock(of: device).milliseconds
    let dated: LocalizableText = "changes made here are dated up to \(CivilTime.sentenceText(newest))"
    let text: LocalizableText
    switch verdict {
    case .disputed: return nil
    case .confirmed:
      text = "\(dated), ahead of the clocks of this machine and its peers; peers apply them only at that time"
    case .unknown: text = "\(dated), ahead of this machine's clock; if the clock is right now, restamp them"
    }
    return NodeStatus.Notice(
      .clockAhead, text: text, next: .waymark("restamp"),
      .futureDated(
        changeSets: Int(clamping: try store.countBehind(ended)), newest: Date(milliseconds: newest)))
  }

  /// Returns the notice that this machine's clock differs from the clocks of connected devices; nil if it doesn't, or
  /// if the other devices' clocks seem to be wrong.
  package func skewNotice() throws -> NodeStatus.Notice? {
    guard case .disputed(let theirs) = verdict,
      sessions.contains(where: { $0.device != nil }),
      try authorsAhead().isEmpty
    else { return nil }
    let minutes = abs(theirs - now) / 60_000
    return NodeStatus.Notice(
      .clockSkew,
      text:
        "this machine's clock is \(minutes) minutes \(theirs > now ? "behind" : "ahead of") the clocks of other "
        + "devices: one of them is wrong",
      .clockSkew(milliseconds: theirs - now))
  }

  /// Returns the other devices whose sets are parked here because the sets are dated ahead; empty if this machine's
  /// clock seems to be wrong instead.
  func authorsAhead() throws -> Set<DeviceKey> {
    let authors = Set(try store.parkedAuthors()).subtracting([device])
    let others = sessions.filter { session in session.device.map(authors.contains) == false }
    let skews = others.compactMap(\.clockSkew)
    let agreeing = skews.count { abs($0) <= Limits.clockDriftMilliseconds }
    return skews.isEmpty || 2 * agreeing > skews.count ? authors : []
  }

  /// Returns the notice about parked sets, with their authors and the time when the first set is due; nil if no set is
  /// parked.
  func parkedNotice() throws -> NodeStatus.Notice? {
    let count = try Lane.allCases.reduce(0) { $0 + (try store.parkedCount($1)) }
    guard count > 0, let next = try store.nextParkedClock else { return nil }
    let authors = try store.parkedAuthors()
    let authorNames = authors.map(names.name(of:)).joined(separator: " and ")
    let due = next.milliseconds - Limits.clockDriftMilliseconds
    let isOurs = try authorsAhead().isEmpty
    return NodeStatus.Notice(
      isOurs ? .parked : .peerClockAhead,
      text:
        "\(count) change set\(count == 1 ? "" : "s") of \(authorNames), dated in the future, "
        + "wait\(count == 1 ? "s" : "") until \(CivilTime.sentenceText(due))",
      next: isOurs ? nil : .waymark("restamp", on: authorNames),
      .parked(
        changeSets: Int(clamping: count), due: Date(milliseconds: due),
        deviceNames: authors.map { names.name(of: $0) }))
  }
}
