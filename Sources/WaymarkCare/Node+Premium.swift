public import Platform
public import Waymark
public import Wire

extension Node {
  /// Returns the entitlements of this circle, the earliest first.
  public func entitlements() throws -> [EntitlementSummary] {
    try core.withWaymarkErrors { PremiumOperations(core).summary.entitlements }
  }

  /// Returns the purchases in the App Store that were made for this circle, those that were confirmed last first.
  public func purchases() throws -> [PurchaseSummary] {
    try core.withWaymarkErrors { PremiumOperations(core).purchases }
  }

  // MARK: Issuers

  /// Makes the circle trust an issuer of entitlements.
  ///
  /// - Parameters:
  ///   - publicKey: the issuer's `.pub` file.
  ///   - rootKey: the file with the circle's root key; nil for the root key that this device holds.
  /// - Throws: `WaymarkError` with the code `issuer_withdrawn` if the circle has withdrawn its trust in this key.
  public func trustIssuer(at publicKey: URL, rootKey: URL? = nil) throws {
    try core.withWaymarkErrors {
      let issuer = try Issuer.readPublicKey(publicKey.path(percentEncoded: false))
      try PremiumOperations(core).trust(
        issuer, rootKey: rootKey?.path(percentEncoded: false), passphrase: nil)
    }
  }

  // MARK: Withdrawals

  /// Withdraws the trust of this circle in an issuer, on all devices and for good. Its entitlements count no longer,
  /// including those that it signs later.
  ///
  /// - Parameters:
  ///   - issuer: the issuer's public key: ``EntitlementSummary/issuer``.
  ///   - rootKey: the file with the circle's root key; nil for the root key that this device holds.
  /// - Returns: the resulting sync state.
  /// - Throws: `WaymarkError` with the code `unknown_issuer` if the circle never trusted the issuer, or `root_key`.
  @discardableResult
  public func untrustIssuer(_ issuer: DeviceKey, rootKey: URL? = nil) throws -> SyncState {
    try withdraw(.issuer(issuer.description), rootKey: rootKey, issuerKey: nil)
  }

  /// Removes an entitlement, on all devices and for good. It can't be installed again; another entitlement can.
  ///
  /// The root key may remove every entitlement, and an issuer those that it signed.
  ///
  /// - Parameters:
  ///   - id: ``EntitlementSummary/id``.
  ///   - issuerKey: the key file of the issuer that signed the entitlement; nil to sign with the root key, or with the
  ///     key with which this device issued the entitlement to its own circle.
  ///   - rootKey: the file with the circle's root key; nil for the root key that this device holds.
  /// - Returns: the resulting sync state.
  /// - Throws: `WaymarkError` with the code `not_found`, `root_key`, or `unknown_issuer` if `issuerKey` is the key of
  ///   another issuer.
  @discardableResult
  public func removeEntitlement(_ id: String, issuerKey: URL? = nil, rootKey: URL? = nil) throws -> SyncState
  {
    // A part of an id may name another entitlement tomorrow, and a removal is final.
    guard id.count == 64 else { throw WaymarkError.notFound("entitlement", id) }
    return try withdraw(.entitlements([id]), rootKey: rootKey, issuerKey: issuerKey)
  }

  private func withdraw(
    _ subject: WithdrawalRequest.Subject, rootKey: URL?, issuerKey: URL?
  ) throws -> SyncState {
    var request = WithdrawalRequest(subject)
    request.rootKey = rootKey?.path(percentEncoded: false)
    request.issuerKey = issuerKey?.path(percentEncoded: false)
    // Apps ask for confirmation themselves.
    request.isConfirmed = true
    try core.withWaymarkErrors { _ = try WithdrawalOperation(core).withdraw(request) }
    return try syncState()
  }
}
