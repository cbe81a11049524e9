// Protocol/circle.md, "Revoking a device"

import Home
import Membership
import Model
import NodeRuntime
import Reasons
import Replication
import Sodium
import Wire

/// What a revocation would do, as shown before confirmation.
struct RevocationPlan {
  struct Target {
    let member: Member
    let terms: RevocationTerms
    /// The number of the device's change sets that are stored here, which are kept or discarded.
    let changeSets: UInt64
    /// If the change sets are discarded: the number of records that the device was the last to change.
    let lastChanged: Int
    /// The members that the device invited, directly or indirectly.
    let invited: [Member]
    /// The members that are admins only because the device promoted them.
    let promoted: [Member]
    /// The devices that the device has revoked.
    let revoked: [Member]
    let statement: Statement

    var revocation: Revocation? {
      if case .revocation(let body) = statement.content { body } else { nil }
    }
  }

  let targets: [Target]
  /// Requested devices that are already revoked.
  let already: [Member]
  /// The signer's name: `the root key` or `this device`.
  let signer: String
  let issuer: DeviceKey
  let undoesRevocations: Bool
  /// Whether the promotions by the devices are withdrawn.
  let withdraws: Bool
  let discards: Bool
  let isBeforeErase: Bool
  let warnings: [String]

  /// The question that the person has to confirm.
  var question: LocalizableText {
    let names = targets.map(\.member.name).joined(separator: ", ")
    let count = targets.reduce(0) { $0 + $1.changeSets }
    let (it, its) = targets.count == 1 ? ("It", "Its") : ("They", "Their")
    if discards {
      let records = targets.reduce(0) { $0 + $1.lastChanged }
      return
        "Revoke \(names) and discard everything that \(it.lowercased()) wrote, on all devices? "
        + "\(plural(Int(clamping: count), "change set")) on this device are discarded. "
        + "\(plural(records, "record")) that \(it.lowercased()) changed last disappear or show earlier values. "
        + "This can't be undone."
    }
    if isBeforeErase {
      return "Revoke \(names)? \(it) can't rejoin with the same keys. The first "
        + "\(plural(Int(clamping: count), "change set")) of \(its.lowercased()) logs, from before the mass erase, are "
        + "kept; every device drops everything later, and the erased records come back wherever their values are "
        + "still kept."
    }
    return
      "Revoke \(names)? \(it) can't rejoin with the same keys. \(its) changes on this device "
      + "(\(plural(Int(clamping: count), "change set"))) are kept; every device drops everything else that "
      + "\(it.lowercased()) wrote or will write."
  }

  /// The lines to show before confirmation.
  var lines: [String] {
    var lines: [String] = []
    for target in targets {
      let name = target.member.name
      lines.append(
        "\(target.member.device.description.prefix(8))  \(name)  \(target.member.role.word)")
      let staying = target.invited.filter { other in
        !targets.contains { $0.member.device == other.device }
      }
      if !staying.isEmpty {
        lines.append(
          "invited by \(name) and not revoked (--with-invited revokes them too): \(names(staying))")
      }
      let promoted = target.promoted.filter { other in
        !targets.contains { $0.member.device == other.device }
      }
      if !promoted.isEmpty {
        lines.append(
          withdraws
            ? "made admin by \(name) and a member again: \(names(promoted))"
            : "made admin by \(name) and staying admin (--with-invited withdraws that): \(names(promoted))")
      }
      if !target.revoked.isEmpty, !undoesRevocations {
        lines.append(
          "revoked by \(name) and staying revoked (--undo-revocations readmits them): \(names(target.revoked))"
        )
      } else if !target.revoked.isEmpty {
        lines.append("revoked by \(name) and readmitted: \(names(target.revoked))")
      }
    }
    return lines + warnings
  }

  private func names(_ members: [Member]) -> String { members.map(\.name).joined(separator: ", ") }

  /// The command without the leading `waymark`.
  func command(_ request: RevocationRequest) -> String {
    var words = ["revoke"] + request.devices.map(shellWord)
    if request.withInvited { words.append("--with-invited") }
    if request.undoesRevocations { words.append("--undo-revocations") }
    if request.discards { words.append("--discard") }
    if request.isBeforeErase { words.append("--before-erase") }
    if let path = request.rootKey { words += ["--root-key", shellWord(path)] }
    return words.joined(separator: " ")
  }
}

extension RevocationPlan {
  /// - Parameter isDone: whether the devices have been revoked.
  func summary(isPreview: Bool, isDone: Bool, _ status: RevocationStatus) -> RevocationSummary {
    RevocationSummary(
      isPreview: isPreview, isDone: isDone, isDiscarding: discards,
      revoked: targets.map { summary(of: $0, isDone: isDone, status) },
      already: already.map { member in
        RevocationSummary.Already(
          device: member.device, name: member.name, revocations: status.revocations(of: member.device))
      },
      by: issuer, byName: signer, warnings: warnings, notes: lines, text: text(isDone: isDone, status),
      next: isDone ? "\(waymark: "members") shows who has received it" : nil)
  }

  private func summary(
    of target: Target, isDone: Bool, _ status: RevocationStatus
  ) -> RevocationSummary.Target {
    let member = target.member
    return RevocationSummary.Target(
      device: member.device, name: member.name, role: MemberRole(member.role),
      statement: isDone ? target.statement.id.description : nil,
      keptLogs: target.revocation?.kept.count ?? 0,
      changeSets: Int(clamping: target.changeSets), lastChanged: discards ? target.lastChanged : nil,
      invited: target.invited.map(DeviceReference.init),
      hadRevoked: target.revoked.map(DeviceReference.init),
      notHeard: status.notHeard(of: member.device).map(DeviceReference.init))
  }

  private func text(isDone: Bool, _ status: RevocationStatus) -> LocalizableText {
    var sentences = already.map { member -> LocalizableText in
      let by = status.revocations(of: member.device).first
        .map { revocation -> LocalizableText in
          ", by \(revocation.byName) on \(CivilTime.sentenceText(revocation.issued.milliseconds))"
        }
      return "\(member.name) was already revoked" + (by ?? "") + "."
    }
    guard !targets.isEmpty else { return sentences.joined(separator: " ") }
    let names = targets.map(\.member.name).joined(separator: ", ")
    guard isDone else { return (sentences + [question]).joined(separator: " ") }
    sentences.append(
      "Revoked \(names), signed by \(signer).")
    if discards {
      let records = targets.reduce(0) { $0 + $1.lastChanged }
      sentences.append("\(plural(records, "record")) disappeared or went back to earlier values.")
    }
    let others = Set(targets.flatMap { status.notHeard(of: $0.member.device).map(\.name) })
      .sorted()
    sentences.append(
      others.isEmpty
        ? "Every other member has received the revocation."
        : "\(others.joined(separator: ", ")) \(others.count == 1 ? "receives" : "receive") the revocation when "
          + "connected, and until then \(others.count == 1 ? "accepts" : "accept") changes from \(names).")
    sentences.append("A revoked device can come back only by joining with a new ticket and new keys.")
    return sentences.joined(separator: " ")
  }
}

extension Role {
  /// The role's name in text and documents.
  var word: String { self == .admin ? "admin" : "member" }
}
