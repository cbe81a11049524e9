import Home
import Reasons
import Replication
import Storage
import Wire

extension NodeInspection {
  /// Returns a notice for each device that sent change sets without values, although nothing erased explains it. While
  /// change sets are still to come, there is none, because an erase may be among them.
  func missingValueNotices() throws -> [NodeStatus.Notice] {
    let isCatchingUp = replica.sessions.values.contains { session in
      Lane.allCases.contains { !session[$0].lacking.isEmpty }
    }
    guard !isCatchingUp else { return [] }
    return try store.missingValueRecords().map { sender, count in
      let records = count == 1 ? "1 record" : "\(count) records"
      guard let sender, sender != device else {
        return NodeStatus.Notice(
          .valuesMissing, text: "values of \(records) are missing, although nothing was erased",
          next: "\(waymark: "run"), within reach of the other devices: this one asks them for the values",
          .valuesMissing(records: count, sender: nil))
      }
      let name = connections.name(of: sender)
      return NodeStatus.Notice(
        .valuesMissing,
        text: "\(name) sent changes without the values of \(records), although nothing was erased",
        next:
          "\(waymark: "run"), within reach of a device other than \(name): this one asks it for the values",
        .valuesMissing(records: count, sender: DeviceReference(device: sender, name: name)))
    }
  }
}
