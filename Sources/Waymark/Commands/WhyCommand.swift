package import Membership
import Records
import Replication
import Storage
import Wire

/// What `why` can be asked about.
package enum ExplainedSubject: Sendable {
  case peer(Member)
  /// By its name or the beginning of its id.
  case record(String)
}

extension Node {
  /// The peer or the record that a name means.
  ///
  /// - Throws: `WaymarkError` with the code `not_found`, or `ambiguous` where it means both.
  package func explainedSubject(_ subject: String) throws -> ExplainedSubject {
    let peers = deviceNames.peers(matching: subject, besides: identity.device)
    let records = recordLabels(subject)
    if peers.isEmpty, records.isEmpty {
      if [name(of: identity.device), identity.device.description].contains(subject) {
        throw WaymarkError.usage(
          "“\(shortened(subject))” is this device itself; `why` is about another one, or a record.",
          next: "waymark status")
      }
      throw WaymarkError.notFound("peer or record", subject, next: "waymark peers, or waymark history")
    }
    if !peers.isEmpty, !records.isEmpty {
      throw WaymarkError.ambiguous(
        "thing", subject,
        peers.map { "peer \(name(of: $0.device))  \($0.device)" } + NameResolver.shown(records))
    }
    return peers.isEmpty ? .record(subject) : .peer(try peer(named: subject))
  }

  private func recordLabels(_ subject: String) -> [String] {
    do {
      let record = try names.anyRecord(subject)
      let kind = Registry.kind(record.key.kind)
      return ["\(kind?.name ?? "record") \(kind.map { names.label($0, record) } ?? record.key.id.uuid)"]
    } catch let failure as WaymarkError {
      return failure.candidates
    } catch {
      return []
    }
  }
}
