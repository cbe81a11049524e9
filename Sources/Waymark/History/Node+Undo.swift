import Records
import Replication
import Storage
public import Wire

extension Node {
  /// What undoing an operation would do, and what it would leave alone; writes nothing.
  public func undoPreview(of operation: OperationID) async throws -> UndoSummary {
    try await undo(.operation(operation.description), isPreview: true)
  }

  /// Takes back what an operation wrote, of this device or another, as far as it still shows.
  ///
  /// What was changed since, or others have come to use, is left alone and listed. To undo an undo brings the
  /// operation back.
  ///
  /// - Parameters:
  ///   - operation: of this device or another.
  ///   - isForced: takes back also what would be left alone.
  /// - Throws: `WaymarkError` with the code `not_found`, `nothing_to_undo`, or `needs_yes` where all of it would be
  ///   left alone.
  @discardableResult
  public func undo(_ operation: OperationID, isForced: Bool = false) async throws -> UndoSummary {
    try await undo(.operation(operation.description), isForced: isForced)
  }

  /// What ``undoNewest(isForced:)`` would do; writes nothing.
  public func undoNewestPreview() async throws -> UndoSummary { try await undo(.newest, isPreview: true) }

  /// Takes back the newest operation of this device that counts and is no undo itself: again and again, it goes back
  /// step by step.
  @discardableResult
  public func undoNewest(isForced: Bool = false) async throws -> UndoSummary {
    try await undo(.newest, isForced: isForced)
  }

  package func undo(
    _ target: UndoTarget, isForced: Bool = false, isPreview: Bool = false
  ) async throws -> UndoSummary {
    try await sayingWhy {
      try await inSlices { pace in
        try await Undoer(history: historyReader, isForced: isForced) { self.wall() }
          .undo(target, isPreview: isPreview, pace) { undone, drafts, leastClock in
            try write(Storage.Operation.undoVerb, target: undone, drafts, leastClock: leastClock)
          }
      }
    }
  }

  /// Operations of other devices that deleted more than a quarter of a kind, until they are undone or acknowledged.
  public func massDeletions() throws -> [MassDeletion] { try read(.massDeletions) }

  /// The deletions were meant: says no more of them.
  public func acknowledgeMassDeletes() throws {
    try sayingWhy {
      try MassDeletions.acknowledge(in: store)
      loop.nodeChanged()
    }
  }
}

extension NodeStatus.Notice {
  /// What `status` says of a large deletion.
  static func massDeletion(_ delete: MassDeletion) -> NodeStatus.Notice {
    let parts = delete.kinds.map { loss in
      let name =
        Registry.kind(named: loss.kind.rawValue).map { loss.before == 1 ? $0.name : $0.plural } ?? "records"
      return "\(loss.deleted) of \(loss.before) \(name)"
    }
    let operation = delete.operation.description.prefix(8)
    return NodeStatus.Notice(
      .massDeletion,
      text: "\(delete.deviceName) deleted \(parts.joined(separator: " and ")) at "
        + "\(CivilTime.text(delete.time.milliseconds)) (if that was meant: waymark status --acknowledge)",
      next: .waymark("undo \(operation)"), .massDeletion(delete))
  }
}
