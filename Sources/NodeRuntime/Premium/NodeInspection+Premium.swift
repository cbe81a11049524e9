import Enrolment
import Home
import Membership
package import Reasons
import Records
import Replication
import Wire

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
        + "\(failure.reason.sentence())",
      next: failure.reason == .clockDisputed ? failure.next : .waymark("premium self"))
  }

  /// The notice that premium ends unless the App Store confirms the subscription; nil if that is not due, or if premium
  /// goes on without it.
  var purchaseNotice: NodeStatus.Notice? {
    let (gate, time) = (replica.ownGate(now: now), replica.gateTime(now: now))
    guard let end = gate.validUntil,
      let subscription = circle.subscriptions.first(where: {
        $0.period?.end == end && $0.trusted == end && $0.state(at: time) == .valid
      }), let refresh = subscription.refresh, time >= refresh
    else { return nil }
    return NodeStatus.Notice(
      .purchaseRefresh,
      text:
        "premium ends on \(endText(milliseconds: end)) unless the App Store confirms the subscription before",
      next: Reason.purchaseRefresh.next())
  }
}
