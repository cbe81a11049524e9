// Protocol/circle.md, "Revoking a device"

package import Platform
package import Home
import Membership
import Reasons
import Replication
import Storage
package import Wire

/// A request to revoke devices.
package struct RevocationRequest: Sendable {
  /// The devices' names or id prefixes.
  package var devices: [String]
  /// Whether to revoke the devices that `devices` invited, too.
  package var withInvited = false
  /// Whether to readmit the devices that `devices` had revoked.
  package var undoesRevocations = false
  /// Whether to discard everything that the devices wrote.
  package var discards = false
  /// Whether to keep only what `devices` wrote before their held mass erases.
  package var isBeforeErase = false
  /// The file with the circle's root key, which then signs in place of this device's key; nil to sign with this
  /// device's key if it may revoke.
  package var rootKey: String?
  package var isPreview = false
  package var isConfirmed = false
  /// The passphrase of the root key, if it is sealed.
  package var passphrase: Passphrase?

  package init(devices: [String]) { self.devices = devices }

  /// Creates an app's request. It counts as confirmed, because apps ask for confirmation themselves.
  package init(
    _ devices: [DeviceKey], _ withInvited: Bool, _ undoesRevocations: Bool, _ discards: Bool,
    _ isBeforeErase: Bool, _ rootKey: URL?, isPreview: Bool
  ) {
    self.init(devices: devices.map(\.description))
    self.withInvited = withInvited
    self.undoesRevocations = undoesRevocations
    self.discards = discards
    self.isBeforeErase = isBeforeErase
    self.rootKey = rootKey?.path(percentEncoded: false)
    self.isPreview = isPreview
    isConfirmed = !isPreview
  }
}

extension WaymarkError {
  static func noRoom(_ target: RevocationPlan.Target) -> WaymarkError {
    .failed(
      .noRoom,
      "\(target.member.name) was not revoked: the circle holds the maximum number of statements by this device.",
      next:
        "\(waymark: "revoke", on: "another admin device"); or here \(waymark: "revoke DEVICE --root-key FILE")"
    )
  }
}
