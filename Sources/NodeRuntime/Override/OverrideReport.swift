// Protocol/merge.md, "Overrides"

import Engine
import Enrolment
import Home
import Model
import Reasons
import Records
import Replication
import Storage
import Wire

/// The notices of `status` about overrides: an override that is waiting for change sets, and records of the last
/// override that other devices changed without having received that override.
struct OverrideReport {
  let replicator: Replicator
  let names: DeviceNames

  var notices: [NodeStatus.Notice] { [waiting, overtaken].compactMap(\.self) }

  private var waiting: NodeStatus.Notice? {
    guard let request = replicator.override.pending else { return nil }
    let missing = Int(clamping: (try? replicator.missing(request)) ?? 0)
    return NodeStatus.Notice(
      .overrideWaiting, text: "\(sentence(request)) is waiting for " + plural(missing, "change set"))
  }

  private var overtaken: NodeStatus.Notice? {
    guard let last = replicator.override.trace, !last.overtaken.isEmpty,
      ((try? replicator.store.undos(of: last.request.operation)) ?? []).isEmpty
    else { return nil }
    let kinds = Dictionary(grouping: last.overtaken, by: \.kind).sorted { $0.key < $1.key }
    let counts = kinds.map { kind, records in
      let known = replicator.store.schema.kind(kind)
      return plural(records.count, known?.name ?? "record", known?.plural)
    }.joined(separator: ", ")
    return NodeStatus.Notice(
      .overrideOvertaken,
      text:
        "devices that had not received \(sentence(last.request)) changed "
        + "\(last.overtaken.count) of its records: \(counts); those changes merged as usual",
      next: .waymark("history"))
  }

  /// Returns a phrase such as “the mirror of nas from 2026-05-03T08:00:00Z”.
  private func sentence(_ request: OverrideRequest) -> String {
    let of = request.peer.map { " of \(names.name(of: $0))" } ?? ""
    return "the \(request.verb)\(of) from \(CivilTime.sentenceText(request.asked))"
  }
}

extension OverrideEvent {
  /// The log line of the event; nil if it is not logged.
  var line: String? {
    let (request, what): (OverrideRequest, String)
    switch self {
    case .began(let begun): (request, what) = (begun, "started")
    case .ready, .written: return nil
    case .finished(let done): (request, what) = (done, "finished")
    case .dropped(let dropped): (request, what) = (dropped, "cancelled")
    }
    return "\(request.verb) \(request.operation.description.prefix(8)) \(what)"
  }
}
