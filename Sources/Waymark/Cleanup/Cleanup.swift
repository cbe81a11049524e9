public import Foundation
import Records
import Replication
package import Storage
public import Wire

/// Trips that look as if a test had left them behind, and what became of them.
public struct CleanupSummary: Hashable, Sendable, Codable {
  /// Whether nothing was to be deleted.
  public let isPreview: Bool
  /// How many were deleted.
  public let deleted: Int
  /// The operation that deleted them, which can be undone.
  public let operation: OperationID?
  /// The backup that was taken before.
  public let backup: String?
  /// The trips that were deleted, or would be.
  public let trips: [TestTrip]

  /// A trip that looks like a test's.
  public struct TestTrip: Hashable, Sendable, Codable, Identifiable {
    public let id: UUID
    /// The name of the trip.
    public let name: String
    /// The part of its name that gives it away.
    public let mark: String
    /// How much belongs to it.
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

/// What tests of the applications used to leave behind, told by the names of trips.
package struct TestData {
  private let store: Store

  package init(store: Store) { self.store = store }

  /// What is found, which nothing was done to.
  package func preview() throws -> CleanupSummary {
    CleanupSummary(isPreview: true, deleted: 0, operation: nil, backup: nil, trips: try found())
  }

  /// - Throws: `WaymarkError` with the code `needs_yes` if something was found and nobody has confirmed.
  package func delete(on node: isolated Node, isConfirmed: Bool) async throws -> CleanupSummary {
    let found = try found()
    guard !found.isEmpty else {
      return CleanupSummary(isPreview: false, deleted: 0, operation: nil, backup: nil, trips: [])
    }
    guard isConfirmed else { throw WaymarkError.leftovers(found) }
    let backup = try await node.backUp(before: "cleanup")
    try node.checkOpen()
    // What came while the backup was taken was not agreed to; what went meanwhile needs nothing.
    let agreed = Set(found.map(\.id))
    let deleted = try self.found().filter { agreed.contains($0.id) }
    let drafts = deleted.map {
      EntryDraft(.delete, RecordKey(kind: KindNumbers.trip, id: RecordID($0.id)))
    }
    let operation = drafts.isEmpty ? nil : try node.write("cleanup", drafts)
    return CleanupSummary(
      isPreview: false, deleted: deleted.count, operation: operation, backup: backup, trips: deleted)
  }

  func found() throws -> [CleanupSummary.TestTrip] {
    try store.records(RecordQuery(listing: Registry.trip)).compactMap { trip in
      guard let name = Registry.trip.title(of: trip), let mark = Self.mark(in: name) else { return nil }
      let summary = try store.tripSummary(trip.key.id)
      return CleanupSummary.TestTrip(
        id: UUID(trip.key.id), name: name, mark: mark,
        items: summary.lodgings + summary.transportations + summary.activities)
    }
  }

  /// The mark that a name bears, in whatever case; nil if it bears none.
  static func mark(in name: String) -> String? {
    let name = name.lowercased()
    return marks.first { name.contains($0.lowercased()) }
  }

  private static let marks = [
    "test trip", "debug", "sample", "demo", "Trip 0", "Trip 1", "Performance Test", "unprotected trip",
    "protected trip",
  ]
}

extension WaymarkError {
  fileprivate static func leftovers(_ found: [CleanupSummary.TestTrip]) -> WaymarkError {
    let count = found.count == 1 ? "1 trip looks" : "\(found.count) trips look"
    return WaymarkError(
      exitCode: ExitCode.needsYes, code: .needsYes,
      message: "\(count) as if a test had left \(found.count == 1 ? "it" : "them") behind; "
        + "deleting can be undone, and a backup is taken first.",
      next: .waymark("cleanup --yes"),
      candidates: found.map { trip in
        "\(trip.id.uuidString)  \(shortened(trip.name))  (\(trip.items) \(trip.items == 1 ? "item" : "items"))"
      })
  }
}
