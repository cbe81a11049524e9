// Protocol/channel.md, "Flow"

import SecureChannel
import Synchronization

extension Link {
  /// Schedules the next check of the deadlines.
  ///
  /// While something is in progress, a check follows every `tickMilliseconds`. An idle link has only one deadline, far
  /// in the future, because a node with eight quiet peers must not wake the machine all the time.
  func scheduleTick() {
    let now = monotonicMilliseconds()
    let wait = max(settings.limits.tickMilliseconds, isAtRest ? idleDeadline - now : 0)
    tick = (now + wait, tick.number &+ 1)
    executor.after(milliseconds: wait) { [weak self, number = tick.number] in
      self?.assumeIsolated { if $0.tick.number == number { $0.checkDeadlines() } }
    }
  }

  /// Brings the next check forward to `tickMilliseconds` from now, because something with a deadline has begun.
  func hastenTick() {
    if tick.at > monotonicMilliseconds() + settings.limits.tickMilliseconds { scheduleTick() }
  }

  /// Whether the link is open and nothing is in progress in either direction.
  private var isAtRest: Bool {
    stage == .open && isAdmitted && !closeIsWanted && half == nil && written == channel.output.count
  }

  private var idleDeadline: Int64 { shared.withLock { $0.lastReceived } + settings.limits.idleMilliseconds }

  private func checkDeadlines() {
    let now = monotonicMilliseconds()
    switch stage {
    case .new, .ended: return
    case .connecting: if now >= deadline { connectTimedOut() }
    case .handshaking: if now >= deadline { end(.timeout) }
    case .closing(let reason): if now >= deadline { end(reason) }
    case .open: checkOpen(at: now)
    }
    if stage != .ended { scheduleTick() }
  }

  private func checkOpen(at now: Int64) {
    let limits = settings.limits
    let (lastReceived, inboxIsFull) = shared.withLock { ($0.lastReceived, $0.inbox.isFull) }
    if closeIsWanted {
      if now >= deadline { end(.closedHere) }
    } else if !isAdmitted {
      if now >= deadline { end(.timeout) }
    } else if written < channel.output.count, now - lastWriteProgress >= limits.idleMilliseconds {
      end(.slow)
    } else if !inboxIsFull {
      if now - lastReceived >= limits.idleMilliseconds { return end(.idle) }
      checkSpeed(at: now)
    }
  }

  /// Ends the link if a message has been arriving below the minimum speed for a whole window.
  private func checkSpeed(at now: Int64) {
    guard let half, now - half.since >= settings.limits.slowMilliseconds else { return }
    let bytesIn = shared.withLock { $0.bytesIn }
    let least = Int64(settings.limits.slowBytesPerSecond) * (now - half.since) / 1_000
    if Int64(bytesIn - half.bytesIn) < least { return end(.slow) }
    self.half = (now, bytesIn)
  }
}
