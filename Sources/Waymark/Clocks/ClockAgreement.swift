import Foundation
import Membership
import Replication
import Storage
import Wire

/// Whether this machine's wall clock is right, judged by the clocks of its peers and by the dates of change sets.
struct ClockAgreement {
  let store: Store
  let sessions: [Session]
  let device: DeviceKey
  let names: DeviceNames
  let now: Moment

  /// What is known of this machine's clock.
  enum Verdict {
    /// Most connected peers have about the same time.
    case confirmed
    /// No peer is connected, and nothing speaks against it.
    case unknown
    /// Most connected peers have another time, or others have written later than it says.
    case disputed(Moment)
  }

  var verdict: Verdict {
    let skews = sessions.filter { !$0.isClosing }.compactMap(\.clockSkew).sorted()
    if !skews.isEmpty {
      let agreeing = skews.count { abs($0) <= Limits.clockDriftMilliseconds }
      return 2 * agreeing > skews.count ? .confirmed : .disputed(now + skews[skews.count / 2])
    }
    let newest = store.newestClock(otherThan: device).milliseconds
    return newest > now + Limits.clockDriftMilliseconds ? .disputed(newest) : .unknown
  }

  /// Own logs whose newest sets are dated further ahead than others fold.
  func logsAhead() throws -> [EndedLog] {
    try store.logsAhead(
      of: device, horizon: Clock(milliseconds: now + Limits.clockDriftMilliseconds))
  }

  /// The own clock ran ahead, as far as can be told.
  func aheadNotice() throws -> NodeStatus.Notice? {
    let ended = try logsAhead()
    guard !ended.isEmpty else { return nil }
    let newest = store.newestClock(of: device).milliseconds
    let dated = "changes made here are dated up to \(CivilTime.text(newest))"
    let text: String
    switch verdict {
    case .disputed: return nil
    case .confirmed:
      text = "\(dated), ahead of this machine's clock and of its peers'; they wait there for their time"
    case .unknown: text = "\(dated), ahead of this machine's clock; if that is right now, date them anew"
    }
    return NodeStatus.Notice(
      .clockAhead, text: text, next: .waymark("restamp"),
      .futureDated(
        changeSets: Int(clamping: try store.countBehind(ended)), newest: Date(milliseconds: newest)))
  }

  /// This machine's clock is not that of the other devices, and nothing says that it is they who are wrong.
  func skewNotice() throws -> NodeStatus.Notice? {
    guard case .disputed(let theirs) = verdict,
      sessions.contains(where: { $0.device != nil }),
      try authorsAhead().isEmpty
    else { return nil }
    let minutes = abs(theirs - now) / 60_000
    return NodeStatus.Notice(
      .clockSkew,
      text:
        "the clock of this machine is \(minutes) minutes \(theirs > now ? "behind" : "ahead of") that of other "
        + "devices: one of them is wrong",
      .clockSkew(milliseconds: theirs - now))
  }

  /// The devices whose sets wait for their time here, unless it is this machine's clock that is wrong.
  func authorsAhead() throws -> Set<DeviceKey> {
    let authors = Set(try store.parkedAuthors()).subtracting([device])
    let others = sessions.filter { session in session.device.map(authors.contains) == false }
    let skews = others.compactMap(\.clockSkew)
    let agreeing = skews.count { abs($0) <= Limits.clockDriftMilliseconds }
    return skews.isEmpty || 2 * agreeing > skews.count ? authors : []
  }

  /// Whose sets wait for their time, and until when.
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
        + "wait\(count == 1 ? "s" : "") for \(CivilTime.text(due))",
      next: isOurs ? nil : .waymark("restamp", on: authorNames),
      .parked(
        changeSets: Int(clamping: count), due: Date(milliseconds: due),
        deviceNames: authors.map { names.name(of: $0) }))
  }
}
