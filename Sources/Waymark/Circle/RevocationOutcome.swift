import Membership
import Replication
import Wire

/// What a person should know before a revocation, and what became of it.
extension Node {
  func warnings(_ targets: [RevocationPlan.Target], issuer: DeviceKey) -> [String] {
    targets.flatMap { warnings($0, issuer: issuer) } + adminWarning(targets)
  }

  private func warnings(_ target: RevocationPlan.Target, issuer: DeviceKey) -> [String] {
    let name = target.member.name
    var warnings: [String] = []
    if let rank = rankWarning(target.member, issuer) { warnings.append(rank) }
    if circle.evaluation.revocations[identity.device]?.contains(where: {
      $0.body.issuer == target.member.device
    }) == true {
      warnings.append("\(name) had revoked this device: that ends with it")
    }
    let known = replica.sessions.values.map { session in
      Lane.allCases.reduce(0) { count, lane in
        count + session[lane].lacking.filter { $0.key.device == target.member.device }.count
      }
    }
    if known.contains(where: { $0 > 0 }) {
      warnings.append(
        "changes of \(name) are still on their way here and would be left out: waymark wait, then again"
      )
    }
    if !replica.ownGate(now: wall()).isOpen {
      warnings.append(
        "records do not sync with this device now: what \(name) wrote and is not here is left out")
    }
    if let kept = revocationBody(target)?.kept.count, kept < target.order.kept.count {
      warnings.append("\(name) began \(target.order.kept.count) logs; the \(kept) longest are kept")
    }
    return warnings + [syncWarning(target.member)]
  }

  private func revocationBody(_ target: RevocationPlan.Target) -> Revocation? {
    if case .revocation(let body) = target.statement.content { body } else { nil }
  }

  /// Who is nearer to the root can undo what this device says.
  private func rankWarning(_ target: Member, _ issuer: DeviceKey) -> String? {
    guard issuer == identity.device, target.role == .admin,
      let own = circle.evaluation.known(identity.device)?.chain.count, target.chain.count <= own
    else { return nil }
    return
      "\(target.name) is an admin of \(target.chain.count < own ? "higher" : "equal") rank: whoever holds it can "
      + "revoke this device in turn; with the root key nobody can (--root-key FILE)"
  }

  private func syncWarning(_ target: Member) -> String {
    guard let last = replica.lastSync[target.device] else {
      return network == nil
        ? "no node runs here: what \(target.name) wrote last may be on other devices only, and would be left out"
        : "never in sync with \(target.name), as far as this device knows: what it wrote may not be here"
    }
    return "last in sync with \(target.name): \(CivilTime.text(last))"
  }

  private func adminWarning(_ targets: [RevocationPlan.Target]) -> [String] {
    var trial = circle
    trial.insert(targets.map(\.statement))
    guard !targets.isEmpty, !trial.evaluation.members.values.contains(where: { $0.role == .admin })
    else {
      return []
    }
    return ["no admin is left then: waymark join --root-key FILE makes this device one"]
  }

  // MARK: The outcome

  func summary(
    of plan: RevocationPlan, _ request: RevocationRequest, isDone: Bool
  ) -> RevocationSummary {
    RevocationSummary(
      isPreview: request.isPreview, isDone: isDone,
      revoked: plan.targets.map { summary(of: $0, isDone: isDone) },
      already: plan.already.map { member in
        RevocationSummary.Already(
          device: member.device, name: member.name, revocations: revocations(of: member.device))
      },
      by: plan.issuer, byName: plan.signer, warnings: plan.warnings, notes: plan.lines,
      text: text(plan, isDone: isDone), next: isDone ? "\(waymark: "members") shows who has heard" : nil)
  }

  private func summary(of target: RevocationPlan.Target, isDone: Bool) -> RevocationSummary.Target {
    let member = target.member
    return RevocationSummary.Target(
      device: member.device, name: member.name, role: CircleMember.Role(member.role),
      statement: isDone ? target.statement.id.description : nil,
      keptLogs: revocationBody(target)?.kept.count ?? 0,
      changeSets: Int(clamping: target.changeSets),
      invited: target.invited.map(DeviceReference.init),
      hadRevoked: target.revoked.map(DeviceReference.init),
      notHeard: revocationStatus.notHeard(of: member.device).map(DeviceReference.init))
  }

  private func text(_ plan: RevocationPlan, isDone: Bool) -> String {
    var sentences = plan.already.map { member in
      let by = revocations(of: member.device).first
        .map { ", by \($0.byName) on \(CivilTime.text($0.issued.milliseconds))" }
      return "\(member.name) was revoked already\(by ?? "")."
    }
    guard !plan.targets.isEmpty else { return sentences.joined(separator: " ") }
    let names = plan.targets.map(\.member.name).joined(separator: ", ")
    guard isDone else { return (sentences + [plan.question]).joined(separator: " ") }
    sentences.append(
      "\(names) \(plan.targets.count == 1 ? "is" : "are") out of the circle, by \(plan.signer).")
    let others = Set(plan.targets.flatMap { revocationStatus.notHeard(of: $0.member.device).map(\.name) })
      .sorted()
    sentences.append(
      others.isEmpty
        ? "Every other member has heard of it."
        : "\(others.joined(separator: ", ")) \(others.count == 1 ? "hears" : "hear") of it when connected, "
          + "and until then \(others.count == 1 ? "takes" : "take") what it sends.")
    sentences.append("If it comes back, it joins anew with a ticket, and gets new keys.")
    return sentences.joined(separator: " ")
  }
}
