import Membership
import Home
import Records
import Replication
import Wire

extension NodeInspection {
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
