// Protocol/merge.md, "Forced direction"

import Membership
import Records
import Replication
import Storage
import Wire

extension Node {
  /// Remembers what a person said yes to, and turns sync on, without which it can't be carried out.
  func begin(_ order: DirectionOrder) throws {
    try store.setMeta(MetaKey.direction, order.encoded)
    directions.pending = order
    log.info("direction", "\(order.verb) \(shown(order.operation)) begins")
    do {
      try setSync(true)
    } catch {
      try? dropDirection()
      throw error
    }
    finishDirection()
  }

  /// Change sets that have to come before the difference can be known; those that this circle does not let in
  /// are not waited for.
  func missing(_ order: DirectionOrder) throws -> UInt64 {
    let evaluation = circle.evaluation
    return try store.missing(order.direction) { evaluation.admission(of: $0) == .open }
  }

  /// Carries out the order under way as soon as all that it needs is here.
  func finishDirection() {
    guard let order = directions.pending, !isDiskFull, member != nil else { return }
    // What follows from writing comes back here.
    directions.pending = nil
    do {
      guard try missing(order) == 0 else {
        directions.pending = order
        return
      }
      let outcome = try carryOut(order)
      directions.outcome = (order.operation, .success(outcome))
    } catch {
      storeFailed(error)
      // With room on the disk it is tried again, else at the next start.
      if isDiskFull { directions.pending = order }
      directions.outcome = (
        order.operation,
        .failure(
          .failed(
            "direction", "The difference could not be written: \(error). It is tried again.",
            next: "waymark status"))
      )
    }
  }

  private func carryOut(_ order: DirectionOrder) throws -> DirectionOutcome {
    let plan = try store.plan(order.direction, now: wall())
    let key = OperationKey(id: order.operation, device: identity.device)
    // The node may have ended right behind the write.
    if try !store.isWritten(key), !plan.changes.drafts.isEmpty {
      try write(order.verb, plan.changes.drafts, leastClock: plan.changes.leastClock, id: order.operation)
    }
    // What stands on sets that wait can't be seen yet.
    let isWritten = try store.isWritten(key)
    if isWritten {
      let trace = DirectionTrace(order: order, looked: try store.lastNumberBeforeParked())
      try store.setMeta(MetaKey.lastDirection, trace.encoded)
      directions.last = trace
    }
    try DirectionOrder.forget(store)
    log.info("direction", "\(order.verb) \(shown(order.operation)) is done")
    return DirectionOutcome(
      operation: isWritten ? order.operation : nil, written: plan.counts, elsewhere: plan.later)
  }

  /// Forgets an order that is not carried out yet.
  func dropDirection() throws {
    try DirectionOrder.forget(store)
    guard let order = directions.pending else { return }
    directions.pending = nil
    nodeChanged()
    log.info("direction", "\(order.verb) \(shown(order.operation)) is given up")
  }

  // MARK: Afterwards

  /// Whether somebody who did not know of the last forced direction wrote to its records.
  func lookForOvertaking() {
    guard var trace = directions.last else { return }
    do {
      let key = OperationKey(id: trace.order.operation, device: identity.device)
      guard let operation = try store.operation(key) else { return }
      let known = trace.overtaken.count
      trace.overtaken.formUnion(try store.overtaking(operation, &trace.looked))
      directions.last = trace
      // What was looked at in vain is looked at again after a restart.
      if trace.overtaken.count > known { try store.setMeta(MetaKey.lastDirection, trace.encoded) }
    } catch {
      storeFailed(error)
    }
  }

  /// Numbers have changed: what was looked at can't be told from the rest any more.
  func lookForOvertakingAnew() {
    guard directions.last != nil else { return }
    directions.last?.looked = 0
    do { try store.setMeta(MetaKey.lastDirection, directions.last?.encoded) } catch { storeFailed(error) }
    lookForOvertaking()
  }

  /// What `status` says of forced directions.
  func directionNotices() -> [NoticeSnapshot] {
    var notices: [NoticeSnapshot] = []
    if let order = directions.pending {
      notices.append(
        NoticeSnapshot(
          .directionWaiting,
          text: "\(sentence(order)) waits for "
            + plural(Int(clamping: (try? missing(order)) ?? 0), "change set")))
    }
    if let last = directions.last, !last.overtaken.isEmpty, !isUndone(last.order.operation) {
      notices.append(
        NoticeSnapshot(
          .directionOvertaken,
          text:
            "\(plural(last.overtaken.count, "record")) of \(sentence(last.order)) were changed on a device "
            + "that did not know of it: \(counts(last.overtaken)); those changes merged as usual",
          next: "waymark history"))
    }
    return notices
  }

  private func isUndone(_ operation: OperationID) -> Bool {
    ((try? store.undos(of: operation)) ?? []).isEmpty == false
  }

  private func counts(_ records: Set<RecordKey>) -> String {
    let kinds = Dictionary(grouping: records, by: \.kind).sorted { $0.key < $1.key }
    return kinds.map { kind, records in
      let known = Registry.kind(kind)
      return plural(records.count, known?.name ?? "record", known?.plural)
    }.joined(separator: ", ")
  }

  /// “the mirror of nas from 2026-05-03T08:00:00Z”
  func sentence(_ order: DirectionOrder) -> String {
    let of = order.peer.map { " of \(name(of: $0))" } ?? ""
    return "the \(order.verb)\(of) from \(CivilTime.text(order.asked))"
  }

  private func shown(_ operation: OperationID) -> String { String(operation.description.prefix(8)) }
}
