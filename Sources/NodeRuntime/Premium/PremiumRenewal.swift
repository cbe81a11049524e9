import Engine
import Enrolment
package import Home
import Membership
package import Reasons
import Records
import Replication
import Storage
import Wire

/// What a node needs to renew the premium of its circle while it runs.
package struct PremiumRenewal {
  /// The passphrase that opened this device's keys; nil if they are plain. A serving node can't prompt for it again.
  package var passphrase: Passphrase?
  /// Why the last renewal failed; nil if none has failed since the last success.
  package var failure: WaymarkError?

  /// The first check comes after peers had time to connect, because they may disagree with this machine's clock.
  package static let firstCheckMilliseconds: Int64 = 60_000
  /// Checked at least this often, because the wall clock may be set.
  package static let checkMilliseconds: Int64 = 24 * 3_600_000
}
