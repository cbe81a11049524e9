extension WaymarkError {
  /// A stable code by which a program recognises a failure.
  ///
  /// The codes that calls document are constants of this type. A call can also fail with a code that is none of them: an
  /// app shows the message of such an error, and can log the code.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    private init(_ reason: Reason) { rawValue = reason.rawValue }

    // MARK: Requests

    /// The request is not valid.
    public static let usage = Code(.usage)
    /// The value is not valid for the field.
    public static let badValue = Code(.badValue)
    /// There is no such field.
    public static let unknownField = Code(.unknownField)
    /// Nothing with that name exists.
    public static let notFound = Code(.notFound)
    /// The name matches more than one item.
    public static let ambiguous = Code(.ambiguous)
    /// Other records refer to this record.
    public static let inUse = Code(.inUse)
    /// The record belongs to another record, which is missing or deleted.
    public static let hidden = Code(.hidden)
    /// The record is not deleted.
    public static let notDeleted = Code(.notDeleted)
    /// The values were erased and can't be restored.
    public static let erased = Code(.erased)
    /// There is nothing to undo.
    public static let nothingToUndo = Code(.nothingToUndo)
    /// Confirmation is required.
    public static let needsYes = Code(.needsYes)
    /// Conflicts are waiting for review.
    public static let conflicts = Code(.conflicts)
    /// The record has no such stored property.
    public static let unsupportedProperty = Code(.unsupportedProperty)
    /// The kinds of records that an app defines break a rule.
    public static let schema = Code(.schema)
    /// The node was opened without the schema that has this kind of record.
    public static let unknownKind = Code(.unknownKind)
    /// The limit on the number of settings is reached.
    public static let tooManySettings = Code(.tooManySettings)

    // MARK: The node and its store

    /// The node has been closed.
    public static let closed = Code(.closed)
    /// The node is suspended.
    public static let suspended = Code(.suspended)
    /// The command was cancelled; nothing was changed.
    public static let cancelled = Code(.cancelled)
    /// The node is already serving.
    public static let serving = Code(.serving)
    /// The node on this device is not running.
    public static let notRunning = Code(.notRunning)
    /// Another operation is in progress.
    public static let busy = Code(.busy)
    /// Another process is using the store.
    public static let storeHeld = Code(.storeHeld)
    /// There is no store.
    public static let noStore = Code(.noStore)
    /// The store was written by a newer version of Waymark.
    public static let newerStore = Code(.newerStore)
    /// The tables of the store were made by another version, and can't be read until a node has opened the store.
    public static let outdatedStore = Code(.outdatedStore)
    /// The store is damaged.
    public static let storeDamaged = Code(.storeDamaged)
    /// The store's disk failed.
    public static let storeBroken = Code(.storeBroken)
    /// The disk is full; no changes can be stored.
    public static let diskFull = Code(.diskFull)
    /// The request needs a directory, but the node is in memory.
    public static let inMemory = Code(.inMemory)
    /// The keys of this device were replaced while the node was suspended.
    public static let keysReplaced = Code(.keysReplaced)
    /// The app's key store, outside of the home, has no such key.
    public static let keyNotHere = Code(.keyNotHere)
    /// A key is sealed and no passphrase was available.
    public static let passphraseNeeded = Code(.passphraseNeeded)
    /// The passphrase is wrong.
    public static let wrongPassphrase = Code(.wrongPassphrase)
    /// The text is not acceptable as a passphrase.
    public static let badPassphrase = Code(.badPassphrase)

    // MARK: Premium

    /// This device has no premium.
    public static let freeTier = Code(.freeTier)
    /// Premium on this device has expired.
    public static let entitlementExpired = Code(.entitlementExpired)
    /// Premium on this device has not started yet.
    public static let entitlementNotYetValid = Code(.entitlementNotYetValid)
    /// Premium on this device was withdrawn, by the root key or by the issuer.
    public static let entitlementWithdrawn = Code(.entitlementWithdrawn)
    /// Sync of records is off on this device.
    public static let syncOff = Code(.syncOff)
    /// The text is not a signed transaction of the App Store.
    public static let purchaseUnreadable = Code(.purchaseUnreadable)
    /// The App Store did not sign the transaction.
    public static let purchaseNotGenuine = Code(.purchaseNotGenuine)
    /// The purchase was not made for this circle.
    public static let purchaseNotBound = Code(.purchaseNotBound)
    /// The purchase is not one of the products that give premium.
    public static let purchaseNotListed = Code(.purchaseNotListed)
    /// The file contains no entitlement certificate.
    public static let noCertificate = Code(.noCertificate)
    /// The entitlement or the inviting device belongs to another circle.
    public static let wrongCircle = Code(.wrongCircle)
    /// The circle does not trust the issuer.
    public static let unknownIssuer = Code(.unknownIssuer)
    /// The circle has withdrawn its trust in the issuer.
    public static let issuerWithdrawn = Code(.issuerWithdrawn)

    // MARK: Other devices

    /// The peer can't be reached; this device keeps trying.
    public static let offline = Code(.offline)
    /// No node is listening at the peer's address.
    public static let dialRefused = Code(.dialRefused)
    /// The peer's address does not respond.
    public static let dialTimeout = Code(.dialTimeout)
    /// This machine has no route to the peer's address.
    public static let noRoute = Code(.noRoute)
    /// Sync of records is off on the peer.
    public static let peerSyncOff = Code(.peerSyncOff)
    /// The peer has no premium.
    public static let peerFreeTier = Code(.peerFreeTier)
    /// No other device is connected.
    public static let noPeer = Code(.noPeer)
    /// The inviting device can't be reached.
    public static let unreachable = Code(.unreachable)
    /// Another program is using the address.
    public static let addressInUse = Code(.addressInUse)
    /// The address does not belong to this machine.
    public static let addressNotHere = Code(.addressNotHere)
    /// The text is not a valid ticket.
    public static let badTicket = Code(.badTicket)
    /// Another device has used the ticket.
    public static let ticketSpent = Code(.ticketSpent)
    /// The ticket has expired.
    public static let ticketExpired = Code(.ticketExpired)
    /// The inviting device rejected the ticket.
    public static let ticketRefused = Code(.ticketRefused)
    /// Too many tickets are open.
    public static let tooManyTickets = Code(.tooManyTickets)
    /// The six digits are wrong.
    public static let wrongCode = Code(.wrongCode)
    /// No device on the network offers to pair by a code.
    public static let noOffer = Code(.noOffer)
    /// Several devices on the network offer to pair by a code.
    public static let severalOffers = Code(.severalOffers)
    /// The device at the address offers no code now.
    public static let codeRefused = Code(.codeRefused)
    /// The device is not an admin of the circle.
    public static let notAdmin = Code(.notAdmin)
    /// The other devices would have no admin.
    public static let lastAdmin = Code(.lastAdmin)
    /// No other device has a copy of this device's data.
    public static let onlyDevice = Code(.onlyDevice)

    // MARK: Files

    /// A file can't be read or written.
    public static let file = Code(.file)
    /// The file can't be imported.
    public static let `import` = Code(.`import`)
    /// The file or value is too large.
    public static let tooLarge = Code(.tooLarge)
    /// The content is not available.
    public static let noContent = Code(.noContent)
  }
}

extension WaymarkError.Code: CustomStringConvertible {
  public var description: String { rawValue }
}
