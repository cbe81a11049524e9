public import Foundation
import JSONDocument
public import Wire

/// A ticket by which one new device joins the circle.
public struct Invitation: Hashable, Sendable, Decodable {
  /// One line of lower-case text, for another screen, a code to scan, or a message that nobody else reads.
  public let ticket: String
  /// When the ticket is of no use any more.
  public let expires: Date
}

extension Node {
  /// Makes a ticket for one new device; this node lets it in for as long as it serves.
  ///
  /// - Parameters:
  ///   - role: what the new device may do.
  ///   - lifetime: how long the ticket is good for.
  ///   - rootKey: the file of the circle's root key, where this device is no admin.
  /// - Throws: `WaymarkError` with the code `not_running`, `not_admin` or `too_many_tickets`.
  public func invite(
    as role: CircleMember.Role = .member, for lifetime: Duration = .seconds(600), rootKey: URL? = nil
  ) async throws -> Invitation {
    try await typed(
      "invite",
      [
        "role": .string(role.rawValue), "expiresMilliseconds": .integer(lifetime.wholeMilliseconds),
        "rootKey": .file(rootKey),
      ])
  }

  /// Waits until a device has joined since the last invitation of this node; nil if none does in time.
  public func joiner(within timeout: Duration) async throws -> DeviceReference? {
    try checkOpen()
    return try await waitForJoiner(milliseconds: timeout.wholeMilliseconds).map {
      DeviceReference(device: $0, name: name(of: $0))
    }
  }
}

// MARK: On the new device

/// What this device holds of its own that would be written again in the circle it joins.
public struct JoinPreview: Hashable, Sendable {
  /// Visible records by kind, without empty ones.
  public let counts: [Count]

  /// How many records in all.
  public var total: Int { counts.reduce(0) { $0 + $1.count } }

  /// The records of one kind.
  public struct Count: Hashable, Sendable {
    /// The kind of the records.
    public let kind: RecordKind
    /// How many of them.
    public let count: Int
    /// The plural of the kind, as documents have it.
    package let plural: String
  }
}

/// What a device is after it has founded or joined a circle.
public struct NewMembership: Hashable, Sendable {
  /// The circle it is in.
  public let circle: CircleID
  /// The key that names it.
  public let device: DeviceKey
  /// What the circle calls it: the name that was asked for, with a number if another member has it.
  public let name: String
  /// Records of a revoked device that were written again under its new keys.
  public var rewritten = 0
  /// Where keys are now that were here without a store, if there were any.
  public var keysAside: String?
  /// The member that this device was before, if it stays in the circle until it is revoked.
  public var formerMember: DeviceReference?
  /// Whether the device had joined with the same ticket before; then nothing was done.
  public var wasMember = false
}
