// Protocol/merge.md, "Forced direction"

import Engine
import Membership
import Records
import Replication
import Storage
import Wire

extension Node {
  /// Keeps what a person has confirmed, and turns sync on, without which it can't be carried out.
  func begin(_ request: OverrideRequest) throws {
    try checkIncarnation()
    try checkDisk()
    try checkStore()
    try withRoom { try replicator.begin(request) }
    do {
      try setSync(true)
    } catch {
      try? replicator.dropOverride()
      throw error
    }
    turn { $0.finishOverride(now: time) }
  }

  func note(_ event: OverrideEvent) {
    switch event {
    case .began(let request): log.info("direction", "\(request.verb) \(shown(request.operation)) begins")
    case .ready, .written: break
    case .finished(let request): log.info("direction", "\(request.verb) \(shown(request.operation)) is done")
    case .dropped(let request):
      nodeChanged()
      log.info("direction", "\(request.verb) \(shown(request.operation)) is given up")
    }
  }

  /// What `status` says of forced directions.
  func directionNotices() -> [NodeStatus.Notice] {
    var notices: [NodeStatus.Notice] = []
    if let request = replicator.override.pending {
      notices.append(
        NodeStatus.Notice(
          .directionWaiting,
          text: "\(sentence(request)) waits for "
            + plural(Int(clamping: (try? replicator.missing(request)) ?? 0), "change set")))
    }
    if let last = replicator.override.trace, !last.overtaken.isEmpty, !isUndone(last.request.operation) {
      notices.append(
        NodeStatus.Notice(
          .directionOvertaken,
          text:
            "\(plural(last.overtaken.count, "record")) of \(sentence(last.request)) were changed on a device "
            + "that did not know of it: \(counts(last.overtaken)); those changes merged as usual",
          next: .waymark("history")))
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
  func sentence(_ request: OverrideRequest) -> String {
    let of = request.peer.map { " of \(name(of: $0))" } ?? ""
    return "the \(request.verb)\(of) from \(CivilTime.text(request.asked))"
  }

  private func shown(_ operation: OperationID) -> String { String(operation.description.prefix(8)) }
}
