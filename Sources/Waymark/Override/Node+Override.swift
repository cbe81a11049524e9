public import Wire

extension Node {
  /// What ``mirror(_:_:progress:)`` would change here and, with the next sync, on all devices; writes nothing.
  public func mirrorPreview(
    of peer: DeviceKey, _ scope: OverrideScope = .everything
  ) async throws -> OverrideSummary {
    try await sayingWhy { try await OverrideOperation(from: peer, scope, isPreview: true).run(on: self) }
  }

  /// Makes this device's records, and so the circle's, equal to what a peer holds now.
  ///
  /// A backup is taken first, and the difference is one operation that can be undone. What is edited in the
  /// meantime merges as usual and is reported.
  ///
  /// - Parameters:
  ///   - peer: a connected device of the circle.
  ///   - scope: which records it is about.
  ///   - progress: called on some thread.
  /// - Throws: `WaymarkError` with the code of what is in the way, as `offline`, `free_tier` or `peer_sync_off`;
  ///   `override_waiting` where it is carried out later, as soon as all that it needs has come.
  @discardableResult
  public func mirror(
    _ peer: DeviceKey, _ scope: OverrideScope = .everything,
    progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> OverrideSummary {
    try await sayingWhy {
      try await OverrideOperation(from: peer, scope, isPreview: false).run(on: self, progress)
    }
  }

  /// What ``overrideCircle(_:progress:)`` would change on the other devices; writes nothing.
  public func assertPreview(_ scope: OverrideScope = .everything) async throws -> OverrideSummary {
    try await sayingWhy { try await OverrideOperation(from: nil, scope, isPreview: true).run(on: self) }
  }

  /// Makes the circle's records equal to what this device holds now; see ``mirror(_:_:progress:)``.
  @discardableResult
  public func overrideCircle(
    _ scope: OverrideScope = .everything, progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> OverrideSummary {
    try await sayingWhy {
      try await OverrideOperation(from: nil, scope, isPreview: false).run(on: self, progress)
    }
  }
}
