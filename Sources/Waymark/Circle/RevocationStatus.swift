import Engine
import Foundation
import JSONDocument
import Membership
import Replication
import Storage
import Wire

/// What follows from revocations: for this device, if it is revoked, and for members that have not received one yet.
struct RevocationStatus {
  let circle: Circle
  let device: DeviceKey
  /// Whether the keys of this device wait for admission.
  let isWaiting: Bool
  /// Which members are known to hold a revocation.
  let heard: [StatementID: Set<DeviceKey>]
  let names: DeviceNames

  private var isMember: Bool { circle.evaluation.isMember(device) }

  /// Why this device is out of the circle, and what brings it back; nil for a member and for keys that wait.
  var exclusion: NodeStatus.Notice? {
    guard !isMember, !isWaiting else { return nil }
    let readable = "its records can be read here; nothing is written, sent or received"
    guard let revocation = circle.evaluation.revocations[device]?.first else {
      return NodeStatus.Notice(
        .notAMember,
        text:
          "the device that let this one into the circle was revoked, and its invitations with it; \(readable)",
        next: Self.returning)
    }
    let who = names.signer(revocation.body.issuer)
    return NodeStatus.Notice(
      .revoked,
      text: "this device was revoked by \(who) on \(CivilTime.text(revocation.body.issued)); \(readable)",
      next: Self.returning,
      .revoked(by: revocation.body.issuer, at: Date(milliseconds: revocation.body.issued)))
  }

  private static let returning: Step =
    "\(waymark: "invite", on: "a device of the circle"); then here \(waymark: "join TICKET"): what is here stays"

  // MARK: Who has received it

  /// The members that are not known to hold any of the revocations of a device, by name.
  func notHeard(of revoked: DeviceKey) -> [Member] {
    let revocations = circle.evaluation.revocations[revoked] ?? []
    guard !revocations.isEmpty, isMember else { return [] }
    return circle.evaluation.members.values.filter { member in
      member.device != device
        && revocations.allSatisfy {
          $0.body.issuer != member.device && heard[$0.id]?.contains(member.device) != true
        }
    }.sorted { ($0.name, $0.device) < ($1.name, $1.device) }
  }

  /// The revocations of a device that count.
  func revocations(of device: DeviceKey) -> [CircleMember.Revocation] {
    (circle.evaluation.revocations[device] ?? []).map { counted in
      CircleMember.Revocation(
        id: counted.id.description, issued: Date(milliseconds: counted.body.issued),
        by: counted.body.issuer,
        byName: names.signer(counted.body.issuer))
    }
  }

  /// One notice for each revocation that somebody has not heard of.
  var unheardNotices: [NodeStatus.Notice] {
    circle.evaluation.revoked.values.sorted { ($0.name, $0.device) < ($1.name, $1.device) }.compactMap {
      revoked in
      let others = notHeard(of: revoked.device)
      guard let first = others.first else { return nil }
      return NodeStatus.Notice(
        .revocationUnheard,
        text:
          "\(others.map(\.name).joined(separator: ", ")) \(others.count == 1 ? "has" : "have") not heard yet that \(revoked.name) was revoked, and "
          + "until then take\(others.count == 1 ? "s" : "") what it sends",
        next: "\(waymark: "run", on: others.count == 1 ? first.name : "each of them"), within reach; "
          + "revoke what is lost too",
        .unheard(
          DeviceReference(device: revoked.device, name: revoked.name),
          notHeard: others.map { DeviceReference(device: $0.device, name: $0.name) }))
    }
  }
}

extension Member {
  /// How a document names a device.
  var reference: JSON { ["device": .string(device.description), "name": .string(name)] }
}
