import Membership
import Replication
import Wire

/// One device of the circle, or one that was until it was revoked.
struct MemberSnapshot: Sendable {
  let member: Member
  let isOwn: Bool
  let admittedBy: DeviceKey?
  let name: String
  let lastSeen: Moment?
  /// Empty for a member.
  let revocations: [RevocationSnapshot]
  /// The members that are not known to have heard of it.
  let notHeard: [Member]
}

/// Who revoked a device, and when.
struct RevocationSnapshot: Sendable {
  let id: StatementID
  let issued: Moment
  /// The root key or a device.
  let issuer: DeviceKey
  let issuerName: String
}

/// `members`: the devices of the circle, then those that were revoked.
extension Node {
  func listMembers() -> JSON {
    let evaluation = circle.evaluation
    let members = [evaluation.members, evaluation.revoked].flatMap { devices in
      devices.values.sorted { ($0.name, $0.device) < ($1.name, $1.device) }.map(memberSnapshot)
    }
    return document("members.list", [.init("members", .array(members.map(\.json)))])
  }

  private func memberSnapshot(_ member: Member) -> MemberSnapshot {
    MemberSnapshot(
      member: member, isOwn: member.device == identity.device,
      admittedBy: member.issuer == circle.genesis.root ? nil : member.issuer,
      name: name(of: member.device), lastSeen: lastSeen(of: member.device, wall()),
      revocations: revocationSnapshots(of: member.device),
      notHeard: revocationStatus.notHeard(of: member.device))
  }

  func revocationSnapshots(of device: DeviceKey) -> [RevocationSnapshot] {
    (circle.evaluation.revocations[device] ?? []).map { counted in
      RevocationSnapshot(
        id: counted.id, issued: counted.body.issued, issuer: counted.body.issuer,
        issuerName: deviceNames.signer(counted.body.issuer))
    }
  }
}

extension MemberSnapshot {
  var json: JSON {
    let isRevoked = !revocations.isEmpty
    return [
      "device": .string(member.device.description), "name": .string(name),
      "role": .string(member.role == .admin ? "admin" : "member"), "own": .bool(isOwn),
      "state": .string(isRevoked ? "revoked" : "member"),
      "admittedBy": .text(admittedBy?.description), "lastSeen": timeJSON(lastSeen),
      "revoked": .bool(isRevoked), "revocations": .array(revocations.map(\.json)),
      "notHeard": .array(notHeard.map(\.reference)),
    ]
  }
}

extension RevocationSnapshot {
  var json: JSON {
    [
      "id": .string(id.description), "issued": timeJSON(issued), "by": .string(issuer.description),
      "byName": .string(issuerName),
    ]
  }
}
