import ChangeHistory
import Home
import Model
import Reasons
import Records
import Wire

extension NodeStatus.Notice {
  /// Returns the notice about a mass deletion.
  static func massDeletion(_ delete: MassDeletion, _ schema: Schema) -> NodeStatus.Notice {
    let parts = delete.kinds.map { deletion in
      let name =
        schema.kind(named: deletion.kind.rawValue).map { deletion.before == 1 ? $0.name : $0.plural }
        ?? "records"
      return "\(deletion.deleted) of \(deletion.before) \(name)"
    }
    let operation = delete.operation.description.prefix(8)
    return NodeStatus.Notice(
      .massDeletion,
      text: "\(delete.deviceName) deleted \(parts.joined(separator: " and ")) at "
        + "\(CivilTime.sentenceText(delete.time.milliseconds))",
      next: .waymark("undo \(operation)"),
      .massDeletion(delete))
  }
}
