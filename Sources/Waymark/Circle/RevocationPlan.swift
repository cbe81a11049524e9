// Protocol/circle.md, "Revoking a device"

import Membership
import Replication
import Sodium
import Wire

/// What a revocation would do, as a person sees it before the yes.
struct RevocationPlan {
  struct Target {
    let member: Member
    let order: RevocationOrder
    /// What of its own logs is here and stays.
    let changeSets: UInt64
    /// The members that are in the circle by its word.
    let invited: [Member]
    /// The devices that it has revoked.
    let revoked: [Member]
    let statement: Statement
  }

  let targets: [Target]
  /// Devices that were named and are revoked already.
  let already: [Member]
  /// The root key or this device.
  let signer: String
  let issuer: DeviceKey
  let undoesRevocations: Bool
  let warnings: [String]

  /// What the yes is about.
  var question: String {
    let names = targets.map(\.member.name).joined(separator: ", ")
    let count = targets.reduce(0) { $0 + $1.changeSets }
    let it = targets.count == 1 ? "It" : "They"
    return
      "Revoke \(names)? \(it) can't come back with the same keys. What \(it.lowercased()) wrote and is here "
      + "(\(plural(Int(clamping: count), "change set"))) stays; whatever else \(it.lowercased()) wrote or will "
      + "write is left out on every device."
  }

  /// What a person should know before the yes, a line each.
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
          "let in by \(name), and staying (--with-invited revokes them too): \(names(staying))")
      }
      if !target.revoked.isEmpty, !undoesRevocations {
        lines.append(
          "revoked by \(name), and staying out (--undo-revocations takes them in again): \(names(target.revoked))"
        )
      } else if !target.revoked.isEmpty {
        lines.append("revoked by \(name), and members again: \(names(target.revoked))")
      }
    }
    return lines + warnings
  }

  private func names(_ members: [Member]) -> String { members.map(\.name).joined(separator: ", ") }

  /// The command as it is typed behind `waymark`.
  func command(_ request: RevocationRequest) -> String {
    var words = ["revoke"] + request.devices.map(shellWord)
    if request.withInvited { words.append("--with-invited") }
    if request.undoesRevocations { words.append("--undo-revocations") }
    if let path = request.rootKey { words += ["--root-key", shellWord(path)] }
    return words.joined(separator: " ")
  }
}

extension Role {
  /// As people and documents call it.
  var word: String { self == .admin ? "admin" : "member" }
}
