import Platform
import Home
public import Model
package import NodeRuntime
import Reasons
import RecordTables
import Records
import Replication
package import Storage
public import Wire

/// The preview or the result of cleaning up trips that look like leftovers of tests.
public struct CleanupSummary: Hashable, Sendable, Codable {
  /// Whether this is a preview.
  public let isPreview: Bool
  /// The number of deleted trips.
  public let deleted: Int
  /// The operation that deleted them, which can be undone; nil if nothing was deleted.
  public let operation: OperationID?
  /// The path of the backup taken beforehand; nil if none was taken.
  public let backup: String?
  /// The trips that were deleted or, in a preview, would be.
  public let trips: [TestTrip]

  /// A trip that looks like a leftover of a test.
  public struct TestTrip: Hashable, Sendable, Codable, Identifiable {
    public let id: Trip.ID
    /// The name of the trip.
    public let name: String
    /// The words with which the trip's name begins that suggest a test; empty if the trip was named by the user.
    public let mark: String
    /// The number of lodgings, transportations and activities that belong to the trip.
    public let items: Int
  }

  private enum CodingKeys: String, CodingKey {
    case isPreview = "preview"
    case deleted
    case operation
    case backup
    case trips
  }
}

/// Finds and deletes trips whose names suggest that they were left behind by an application's tests.
package struct TestData {
  private let store: Store
  /// The names or ids of the trips to delete; empty to look for trips by their names.
  private let named: [String]
  /// The names or ids of trips to keep.
  private let kept: [String]

  package init(store: Store, named: [String] = [], except kept: [String] = []) {
    (self.store, self.named, self.kept) = (store, named, kept)
  }

  /// Returns the trips found, without deleting any.
  package func preview() throws -> CleanupSummary {
    CleanupSummary(isPreview: true, deleted: 0, operation: nil, backup: nil, trips: try found())
  }

  /// Takes a backup, then deletes the trips found.
  ///
  /// - Throws: `WaymarkError` with the code `needs_yes` if trips were found and the deletion is not confirmed.
  package func delete(on node: NodeCore, isConfirmed: Bool) async throws -> CleanupSummary {
    let found = try found()
    guard !found.isEmpty else {
      return CleanupSummary(isPreview: false, deleted: 0, operation: nil, backup: nil, trips: [])
    }
    guard isConfirmed else { throw WaymarkError.leftovers(found) }
    let backup = try await node.backUp(before: "cleanup")
    try node.checkOpen()
    // The store may have changed during the backup: only trips that were confirmed and still exist are deleted.
    let confirmed = Set(found.map(\.id))
    let deleted = try self.found().filter { confirmed.contains($0.id) }
    let drafts = deleted.map {
      EntryDraft(.delete, RecordKey(kind: KindNumbers.trip, id: RecordID($0.id)))
    }
    let operation = drafts.isEmpty ? nil : try node.write("cleanup", drafts)
    return CleanupSummary(
      isPreview: false, deleted: deleted.count, operation: operation, backup: backup, trips: deleted)
  }

  /// Returns the named trips or, if none is named, those without items whose name begins with a mark.
  package func found() throws -> [CleanupSummary.TestTrip] {
    let names = NameResolver(store: store)
    let kept = Set(try kept.map { try names.resolve(Kind.trip, $0).key })
    guard named.isEmpty else {
      let trips = try named.map { try names.resolve(Kind.trip, $0) }.filter { !kept.contains($0.key) }
      return try trips.map { try found($0, mark: Kind.trip.title(of: $0).flatMap(Self.mark) ?? "") }
    }
    return try store.records(RecordQuery(listing: Kind.trip)).compactMap { trip in
      guard !kept.contains(trip.key), let mark = Kind.trip.title(of: trip).flatMap(Self.mark) else {
        return nil
      }
      let found = try found(trip, mark: mark)
      return found.items == 0 ? found : nil
    }
  }

  private func found(_ trip: RecordRow, mark: String) throws -> CleanupSummary.TestTrip {
    let summary = try store.tripSummary(trip.key.id)
    return CleanupSummary.TestTrip(
      id: Trip.ID(trip.key.id), name: Kind.trip.title(of: trip) ?? trip.key.id.uuid, mark: mark,
      items: summary.lodgings + summary.transportations + summary.activities)
  }

  /// Returns the mark with which a name begins, ignoring case; nil if it begins with none. A mark counts only as whole
  /// words: a “Democracy tour” is no demo.
  static func mark(in name: String) -> String? {
    let words = words(name)
    return marks.first { words.starts(with: self.words($0)) }
  }

  private static func words(_ text: String) -> [Substring] {
    text.lowercased().split { !$0.isLetter && !$0.isNumber }
  }

  private static let marks = [
    "test trip", "debug", "sample", "demo", "Trip 0", "Trip 1", "Performance Test", "unprotected trip",
    "protected trip",
  ]
}

extension WaymarkError {
  fileprivate static func leftovers(_ found: [CleanupSummary.TestTrip]) -> WaymarkError {
    let isNamed = found.allSatisfy(\.mark.isEmpty)
    let names = found.map { shellWord($0.name) }.joined(separator: " ")
    let next: Step =
      isNamed
      ? .waymark("cleanup \(names) --yes")
      : "\(waymark: "cleanup --yes"); to keep one: \(waymark: "cleanup --except NAME")"
    let what =
      switch (isNamed, found.count) {
      case (true, 1): "1 trip will be deleted"
      case (true, let count): "\(count) trips will be deleted"
      case (false, 1): "1 trip looks like a leftover of tests"
      case (false, let count): "\(count) trips look like leftovers of tests"
      }
    return WaymarkError(
      exitCode: ExitCode.needsYes, code: .needsYes,
      message: "\(what). A backup is taken first, and the deletion can be undone.", next: next,
      candidates: found.map { trip in
        "\(trip.id.description)  \(shortened(trip.name))  (\(trip.items) \(trip.items == 1 ? "item" : "items"))"
      })
  }
}
