import Platform
import Home
import LogStorage
import Model
import Records
package import Replication
import Storage
import Wire

extension HistoryReader {
  /// Returns the operations that change sets belong to, in the order of their first set, with the records that these
  /// sets wrote. Sets that can't be read are left out.
  ///
  /// - Parameters:
  ///   - numbers: the numbers of folded sets.
  ///   - kinds: the kinds to list if the operation wrote to any of them; nil for all kinds.
  package func changes(bySets numbers: [Int64], of kinds: Set<KindNumber>?) throws -> [OperationChange] {
    var order: [OperationKey] = []
    var found: [OperationKey: WrittenRecords] = [:]
    for number in numbers {
      guard let place = try? store.place(number), let key = try? store.operationKey(of: place) else {
        continue
      }
      try store.forEachEntry(of: [place]) { entry, body, place in
        if found[key] == nil {
          order.append(key)
          found[key] = WrittenRecords(verb: body.verb, clock: place.origin.stamp.clock)
        }
        found[key]?.add(entry, body)
      }
    }
    return order.compactMap { key in
      guard let written = found[key] else { return nil }
      let listed = written.listed(kinds)
      return OperationChange(
        operation: OperationReference(
          id: key.id, verb: written.verb, time: Date(milliseconds: written.clock.milliseconds),
          device: key.device, deviceName: deviceName(key.device), isOwn: key.device == own),
        records: listed.prefix(WrittenRecords.listedMax).map { record in
          change(record, written.writes[record, default: .init()])
        },
        otherRecords: max(0, listed.count - WrittenRecords.listedMax))
    }
  }

  private func change(_ record: RecordKey, _ write: WrittenRecords.Write) -> RecordChange {
    let kind = store.schema.kind(record.kind)
    return RecordChange(
      kind: store.schema.name(record.kind), id: UUID(record.id), change: write.change,
      fields: write.change == .changed
        ? write.fields.sorted().map { kind?.field($0)?.name ?? "field \($0)" } : [])
  }
}

/// The records that an operation wrote.
private struct WrittenRecords {
  let verb: String
  let clock: Clock
  private(set) var records: [RecordKey] = []
  private(set) var writes: [RecordKey: Write] = [:]

  struct Write {
    var change = RecordChange.Change.changed
    var fields: Set<FieldNumber> = []
  }

  static let listedMax = 16

  mutating func add(_ entry: Entry, _ body: ChangeSetBody) {
    if writes[entry.key] == nil { records.append(entry.key) }
    var write = writes[entry.key, default: Write()]
    switch entry.type {
    case .put: write.fields.formUnion(body.cells[entry.cells].map(\.field))
    // Settings, and records that merge as a whole, are inserted at each write, so an insert does not mean that they are
    // new.
    case .insert
    where entry.key.kind == KindNumbers.setting || entry.key.kind.mergeClass == .wholeRecord
      || write.change == .erased:
      write.fields.formUnion(body.cells[entry.cells].map(\.field))
    case .insert: write.change = .added
    case .delete: write.change = .deleted
    case .restore: write.change = .restored
    case .erase: write.change = .erased
    }
    writes[entry.key] = write
  }

  /// The records of the given kinds; all of them if there is none.
  func listed(_ kinds: Set<KindNumber>?) -> [RecordKey] {
    guard let kinds else { return records }
    let wanted = records.filter { kinds.contains($0.kind) }
    return wanted.isEmpty ? records : wanted
  }
}
