public import Wire

extension Node {
  /// Returns what ``mirror(_:_:progress:)`` would change here and, with the next sync, on all devices, without writing
  /// anything.
  public func mirrorPreview(
    of peer: DeviceKey, _ scope: OverrideScope = .everything
  ) async throws -> OverrideSummary {
    try await core.withWaymarkErrors {
      try await OverrideOperation(from: peer, scope, isPreview: true).run(on: core)
    }
  }

  /// Makes the records of this device and, with the next sync, those of the whole circle equal to the records that a
  /// peer holds now.
  ///
  /// A backup is taken first. The difference is written as one operation that can be undone. Concurrent edits on other
  /// devices merge as usual and are reported.
  ///
  /// - Parameters:
  ///   - peer: a connected device of the circle.
  ///   - scope: the records to override.
  ///   - progress: called on an arbitrary thread.
  /// - Throws: `WaymarkError` whose code names the obstacle, such as `offline`, `free_tier` or `peer_sync_off`; or
  ///   `override_waiting` if change sets are missing, in which case the override is carried out once they have arrived.
  @discardableResult
  public func mirror(
    _ peer: DeviceKey, _ scope: OverrideScope = .everything,
    progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> OverrideSummary {
    try await core.withWaymarkErrors {
      try await OverrideOperation(from: peer, scope, isPreview: false).run(on: core, progress)
    }
  }

  /// Returns what ``overrideCircle(_:progress:)`` would change on the other devices, without writing anything.
  public func assertPreview(_ scope: OverrideScope = .everything) async throws -> OverrideSummary {
    try await core.withWaymarkErrors {
      try await OverrideOperation(from: nil, scope, isPreview: true).run(on: core)
    }
  }

  /// Makes the records of the whole circle equal to the records that this device holds now; see
  /// ``mirror(_:_:progress:)``.
  @discardableResult
  public func overrideCircle(
    _ scope: OverrideScope = .everything, progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> OverrideSummary {
    try await core.withWaymarkErrors {
      try await OverrideOperation(from: nil, scope, isPreview: false).run(on: core, progress)
    }
  }
}
