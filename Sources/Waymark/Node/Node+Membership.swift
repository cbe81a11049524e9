import Foundation
import JSONDocument
import Membership
import Replication
import Storage
import Wire

/// What follows from revocations: for this device, if it is the one, and for those that have not heard yet.
extension Node {
  /// Why this device is out of the circle, and what brings it back; nil for a member and for keys that wait.
  var exclusion: NodeStatus.Notice? {
    guard member == nil, waiting == nil else { return nil }
    let readable = "its records can be read here; nothing is written, sent or received"
    guard let revocation = circle.evaluation.revocations[identity.device]?.first else {
      return NodeStatus.Notice(
        .notAMember,
        text:
          "the device that let this one into the circle was revoked, and its invitations with it; \(readable)",
        next: Self.returning)
    }
    let who = signer(revocation.body.issuer)
    return NodeStatus.Notice(
      .revoked,
      text: "this device was revoked by \(who) on \(CivilTime.text(revocation.body.issued)); \(readable)",
      next: Self.returning,
      .revoked(by: revocation.body.issuer, at: Date(milliseconds: revocation.body.issued)))
  }

  private static let returning =
    "waymark invite, on a device of the circle; then here waymark join TICKET: what is here stays"

  func logExclusion() {
    guard let exclusion, network != nil else { return }
    log.error("circle", exclusion.text)
  }

  /// A device, or the root key, as people call it.
  func signer(_ key: DeviceKey) -> String { key == circle.genesis.root ? "the root key" : name(of: key) }

  // MARK: Who has heard

  /// The members that are not known to hold any of the revocations of a device, by name.
  func notHeard(of device: DeviceKey) -> [Member] {
    let revocations = circle.evaluation.revocations[device] ?? []
    guard !revocations.isEmpty, member != nil else { return [] }
    return circle.evaluation.members.values.filter { member in
      member.device != identity.device
        && revocations.allSatisfy {
          $0.body.issuer != member.device && replica.heard[$0.id]?.contains(member.device) != true
        }
    }.sorted { ($0.name, $0.device) < ($1.name, $1.device) }
  }

  /// One notice for each revocation that somebody has not heard of.
  func unheardNotices() -> [NodeStatus.Notice] {
    circle.evaluation.revoked.values.sorted { ($0.name, $0.device) < ($1.name, $1.device) }.compactMap {
      revoked in
      let others = notHeard(of: revoked.device)
      guard let first = others.first else { return nil }
      let names = others.map(\.name).joined(separator: ", ")
      return NodeStatus.Notice(
        .revocationUnheard,
        text:
          "\(names) \(others.count == 1 ? "has" : "have") not heard yet that \(revoked.name) was revoked, and "
          + "until then take\(others.count == 1 ? "s" : "") what it sends",
        next: "waymark run on \(others.count == 1 ? first.name : "each of them"), within reach; "
          + "waymark revoke what is lost too",
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
