public import Foundation
import JSONDocument
public import Wire

/// Trips that look as if a test had left them behind, and what became of them.
public struct CleanupSummary: Hashable, Sendable, Decodable {
  /// The trips that were deleted, or would be.
  public let trips: [Leftover]
  /// How many were deleted.
  public let deleted: Int
  /// The operation that deleted them, which can be undone.
  public let operation: OperationID?
  /// The backup that was taken before.
  public let backup: String?

  /// A trip that looks like a test's.
  public struct Leftover: Hashable, Sendable, Decodable, Identifiable {
    public let id: UUID
    /// The name of the trip.
    public let name: String
    /// The part of its name that gives it away.
    public let mark: String
    /// How much belongs to it.
    public let items: Int
  }
}

extension Node {
  /// The trips that look as if a test had left them behind, by words in their names; deletes nothing.
  public func testLeftovers() async throws -> [CleanupSummary.Leftover] {
    let found: CleanupSummary = try await typed("cleanup", ["preview": true])
    return found.trips
  }

  /// Deletes the trips of ``testLeftovers()``, after a backup, in one operation that can be undone.
  @discardableResult
  public func deleteTestLeftovers() async throws -> CleanupSummary {
    try await typed("cleanup", ["yes": true])
  }
}
