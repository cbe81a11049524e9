import Model
import NodeOperations
import Reasons
package import Waymark
package import Wire

// Erasing and the trash. An erase can't be undone, so the terminal asks for a word to be typed.

/// `erase`: removes the values of records, or of one field, from all devices.
package struct EraseRecords: NodeCommand, ConfirmableCommand {
  package static let name = "erase"
  package typealias Answer = EraseSummary

  package var records: [String]?
  package var field: String?
  package var trash: Bool?
  package var olderThanMilliseconds: Int64?
  package var force: Bool?
  package var preview: Bool?
  package var yes: Bool?
  package var isReadOnly: Bool { preview == true }

  package init(records: [String]? = nil) { self.records = records }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> EraseSummary {
    try await EraseOperation(node.core).erase(try request())
  }

  private func request() throws -> EraseRequest {
    let names = records ?? []
    if trash == true {
      guard names.isEmpty, field == nil else {
        throw WaymarkError.usage("`waymark erase --trash` takes neither records nor --field.")
      }
      return request(.trash(olderThan: olderThanMilliseconds), emptyingCommand(olderThanMilliseconds))
    }
    guard olderThanMilliseconds == nil else {
      throw WaymarkError.usage("`--older-than` needs `--trash`.")
    }
    guard let first = names.first else {
      throw WaymarkError.usage("`waymark erase` needs a record, or --trash.")
    }
    let words = names.map(shellWord).joined(separator: " ")
    guard let field else {
      let isForced = force == true
      return request(.records(names, force: isForced), "erase \(words)" + (isForced ? " --force" : ""))
    }
    guard names.count == 1 else {
      throw WaymarkError.usage("`waymark erase --field` takes one record.")
    }
    return request(.field(field, ofRecord: first), "erase --field \(shellWord(field)) \(words)")
  }

  private func request(_ subject: EraseRequest.Subject, _ command: String) -> EraseRequest {
    EraseRequest(subject, isPreview: preview == true, isConfirmed: yes == true, command: command)
  }
}

/// `trash empty`: erases what is in the trash.
package struct EmptyTrash: NodeCommand, ConfirmableCommand {
  package static let name = "trash.empty"
  package typealias Answer = EraseSummary

  package var olderThanMilliseconds: Int64?
  package var preview: Bool?
  package var yes: Bool?
  package var isReadOnly: Bool { preview == true }

  package init() {}

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> EraseSummary {
    try await EraseOperation(node.core).erase(
      EraseRequest(
        .trash(olderThan: olderThanMilliseconds), isPreview: preview == true, isConfirmed: yes == true,
        command: emptyingCommand(olderThanMilliseconds)))
  }
}

/// The words of the command that empties the trash, with the age as the user types it.
private func emptyingCommand(_ milliseconds: Int64?) -> String {
  guard let milliseconds else { return "trash empty" }
  let units: [(name: String, milliseconds: Int64)] = [
    ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000),
  ]
  let unit = units.first { milliseconds.isMultiple(of: $0.milliseconds) } ?? ("ms", 1)
  return "trash empty --older-than \(milliseconds / unit.milliseconds)\(unit.name)"
}

/// `trash list`: the deleted and hidden records of all kinds.
package struct ListTrash: PromptCommand {
  package static let name = "trash.list"
  package var isReadOnly: Bool { true }

  package init() {}

  /// A record in the trash.
  package struct Item: Codable, Sendable {
    package let kind: String
    package let id: String
    package let shortId: String?
    package let name: String?
    /// Whether the record itself was deleted, rather than a record that it belongs to.
    package let deleted: Bool
    package let deletedAt: String
    package let deletedBy: DeviceKey
    package let deletedByName: String
    /// The deleted record that this record belongs to; nil if this record itself was deleted.
    package let hiddenBy: ShownReference?
  }

  package struct Answer: Codable, Sendable {
    package let items: [Item]
  }

  package func perform(on node: isolated Node) throws -> Answer {
    let records = node.typedRecords(zone: nil)
    let found = try records.trash()
    let shortIDs = try records.shortIDs(of: found.map(\.record.id))
    let items = found.map { record, deletion in
      Item(
        kind: record.kind, id: record.id, shortId: shortIDs[record.id] ?? record.id, name: record.name,
        deleted: deletion.deleted,
        deletedAt: deletion.deletedAt, deletedBy: deletion.deletedBy, deletedByName: deletion.deletedByName,
        hiddenBy: deletion.hiddenBy)
    }
    return Answer(items: items)
  }
}
