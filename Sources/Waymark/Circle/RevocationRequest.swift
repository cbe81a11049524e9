// Protocol/circle.md, "Revoking a device"

import Foundation
import Membership
import Replication
import Storage
import Wire

/// A request to revoke devices.
package struct RevocationRequest: Sendable {
  /// Names, or prefixes of ids.
  package var devices: [String]
  /// Whether to revoke the devices that they invited, too.
  package var withInvited = false
  /// Whether to readmit the devices that they had revoked.
  package var undoesRevocations = false
  /// The file with the circle's root key, which signs in place of this device.
  package var rootKey: String?
  package var isPreview = false
  package var isConfirmed = false
  /// The passphrase of a sealed root key.
  package var passphrase: Passphrase?

  package init(devices: [String]) { self.devices = devices }

  /// A request by an app, which asks for confirmation itself.
  init(
    _ devices: [DeviceKey], _ withInvited: Bool, _ undoesRevocations: Bool, _ rootKey: URL?, isPreview: Bool
  ) {
    self.init(devices: devices.map(\.description))
    self.withInvited = withInvited
    self.undoesRevocations = undoesRevocations
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
