import Engine
import Enrolment
import Platform
import Home
import JSONDocument
package import Membership
import Model
import Reasons
import Replication
import Storage
package import Wire

/// The effects of revocations: whether this device was revoked, and which members have not yet received the revocation
/// of another device.
package struct RevocationStatus {
  let circle: Circle
  let device: DeviceKey
  /// Whether this device's keys are waiting to be admitted.
  let isWaiting: Bool
  /// The members that are known to hold each revocation.
  let heard: [StatementID: Set<DeviceKey>]
  let names: DeviceNames

  private var isMember: Bool { circle.evaluation.isMember(device) }

  /// Why this device is not a member and how it can rejoin; nil for a member, and while its keys wait to be admitted.
  var exclusion: NodeStatus.Notice? {
    guard !isMember, !isWaiting else { return nil }
    let readable = "its records can be read here; nothing is written, sent or received"
    guard let revocation = circle.evaluation.revocations[device]?.first else {
      return NodeStatus.Notice(
        .notAMember,
        text:
          "the device that invited this one was revoked, and its invitations with it; \(readable)",
        next: Self.returning)
    }
    guard !circle.evaluation.hasLeft(device) else {
      return NodeStatus.Notice(
        .revoked,
        text: "this device left the circle on \(CivilTime.sentenceText(revocation.body.issued)); \(readable)",
        next: Self.returning,
        .revoked(by: revocation.body.issuer, at: Date(milliseconds: revocation.body.issued)))
    }
    let who = names.signer(revocation.body.issuer)
    return NodeStatus.Notice(
      .revoked,
      text:
        "this device was revoked by \(who) on \(CivilTime.sentenceText(revocation.body.issued)); \(readable)",
      next: Self.returning,
      .revoked(by: revocation.body.issuer, at: Date(milliseconds: revocation.body.issued)))
  }

  private static let returning: Step =
    "\(waymark: "invite", on: "a device of the circle"); then here \(waymark: "join TICKET"); no data is lost"

  /// Says that this device has asked to leave, and that an admin has not completed that yet; nil otherwise.
  var departure: NodeStatus.Notice? {
    guard circle.evaluation.leaving[device] != nil else { return nil }
    return NodeStatus.Notice(
      .leaving,
      text: "this device has asked to leave the circle; nothing more is written here, and an admin device "
        + "(\(admins)) completes that when it is connected",
      next:
        "keep \(waymark: "run") going until then; or \(waymark: "revoke \(shellWord(ownName))", on: admins)")
  }

  private var ownName: String { circle.evaluation.known(device)?.name ?? "" }

  /// The names of the admins, as a person reads them: `laptop or nas`.
  private var admins: String {
    let admins = circle.evaluation.members.values.filter { $0.role == .admin }.map {
      names.name(of: $0.device)
    }
    return admins.isEmpty ? "an admin device" : admins.sorted().joined(separator: " or ")
  }

  // MARK: Members that have not received a revocation

  /// Returns the members that are not known to hold any of a device's revocations, sorted by name.
  package func notHeard(of revoked: DeviceKey) -> [Member] {
    let revocations = circle.evaluation.revocations[revoked] ?? []
    guard !revocations.isEmpty, isMember else { return [] }
    return circle.evaluation.members.values.filter { member in
      member.device != device && circle.evaluation.leaving[member.device] == nil
        && revocations.allSatisfy {
          $0.body.issuer != member.device && heard[$0.id]?.contains(member.device) != true
        }
    }.sorted { ($0.name, $0.device) < ($1.name, $1.device) }
  }

  /// Returns the revocations in effect against a device.
  package func revocations(of device: DeviceKey) -> [CircleMember.Revocation] {
    (circle.evaluation.revocations[device] ?? []).map { counted in
      CircleMember.Revocation(
        id: counted.id.description, issued: Date(milliseconds: counted.body.issued),
        by: counted.body.issuer,
        byName: names.signer(counted.body.issuer))
    }
  }

  /// The notices about revoked devices, one for each whose revocation has not reached all members.
  var unheardNotices: [NodeStatus.Notice] {
    // A device that left by its own decision writes nothing more.
    circle.evaluation.revoked.values.filter { !circle.evaluation.hasLeft($0.device) }.sorted {
      ($0.name, $0.device) < ($1.name, $1.device)
    }.compactMap {
      revoked in
      let others = notHeard(of: revoked.device)
      guard let first = others.first else { return nil }
      return NodeStatus.Notice(
        .revocationUnheard,
        text:
          "\(others.map(\.name).joined(separator: ", ")) \(others.count == 1 ? "has" : "have") not received the "
          + "revocation of \(revoked.name) yet, and accept\(others.count == 1 ? "s" : "") its changes until then",
        next:
          "\(waymark: "run", on: others.count == 1 ? first.name : "each of them"), within reach of this device; "
          + "if a device is lost, revoke it too",
        .unheard(
          DeviceReference(device: revoked.device, name: revoked.name),
          notHeard: others.map { DeviceReference(device: $0.device, name: $0.name) }))
    }
  }
}

extension Member {
  /// The member's key and name as a JSON object.
  var reference: JSON { ["device": .string(device.description), "name": .string(name)] }
}
