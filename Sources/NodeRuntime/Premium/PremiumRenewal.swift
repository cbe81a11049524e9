import Engine
import Enrolment
package import Home
import Membership
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

extension NodeInspection {
  /// How a person gets premium: on this device if it holds the root key, otherwise on the device that founded the
  /// circle.
  package var ownPremiumStep: Step {
    let command = "premium self"
    let founder = circle.genesis.device
    if maintenance.home.storage.hasRootKey || maintenance.home.storage.hasIssuerKey || founder == device {
      return .waymark(command)
    }
    guard circle.evaluation.isMember(founder) else { return .waymark("help premium") }
    return .waymark(command, on: connections.names.name(of: founder))
  }

  /// The notice that premium ends soon and can't be renewed; nil if it was renewed or is not due.
  var renewalNotice: NodeStatus.Notice? {
    guard let failure = renewalFailure, let end = circle.ownPremiumEnd,
      OwnPremium.endToIssue(after: end, at: replica.gateTime(now: now)) != nil
    else { return nil }
    let isOver = end <= replica.gateTime(now: now)
    return NodeStatus.Notice(
      .premiumEnds,
      text: "premium \(isOver ? "ended" : "ends on") \(endText(milliseconds: end)) and can't be renewed: "
        + failure.message.prefix(1).lowercased() + failure.message.dropFirst().prefix { $0 != "." },
      next: failure.code == .clockDisputed ? failure.next : .waymark("premium self"))
  }
}
