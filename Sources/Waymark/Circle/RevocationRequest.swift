// Protocol/circle.md, "Revoking a device"

import Foundation
import Membership
import Replication
import Storage
import Wire

/// Which devices are to be taken out of the circle, and how.
package struct RevocationRequest: Sendable {
  /// By names, or the beginnings of ids.
  package var devices: [String]
  /// Whether also those that are in the circle by their word.
  package var withInvited = false
  /// Whether those that they had revoked are taken in again.
  package var undoesRevocations = false
  /// A file with the circle's root key, which signs in place of this device.
  package var rootKey: String?
  package var isPreview = false
  package var isConfirmed = false
  /// Opens a sealed root key.
  package var passphrase: Passphrase?

  package init(devices: [String]) { self.devices = devices }

  /// A request of an app, which has asked the person itself.
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
      "The circle has no room for another statement of this device; \(target.member.name) is not revoked.",
      next:
        "\(waymark: "revoke", on: "another admin device"); or here \(waymark: "revoke DEVICE --root-key FILE")"
    )
  }
}
