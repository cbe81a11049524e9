// Protocol/circle.md, "Promoting and renaming"

import Enrolment
import Platform
package import Home
import Membership
public import NodeRuntime
import Reasons
import Replication
import Sodium
public import Wire

/// A request to certify a member again with a new role or a new name.
package struct CertificateRequest: Sendable {
  /// What the new certificate changes.
  package enum Change: Hashable, Sendable {
    case promotion
    case name(String)
  }

  /// The member's name or a prefix of its id; nil for this device.
  package var device: String?
  package var change: Change
  /// The file with the circle's root key; nil to sign with this device's key.
  package var rootKey: String?
  /// The passphrase of the root key, if it is sealed.
  package var passphrase: Passphrase?

  package init(device: String?, _ change: Change) {
    self.device = device
    self.change = change
  }
}

/// A member that was certified again, as an admin or under a new name.
public struct MemberChange: Hashable, Sendable, Codable {
  /// The member.
  public let device: DeviceKey
  /// The name of the member in the circle.
  public let name: String
  /// The name before; equal to `name` unless the member was renamed.
  public let previousName: String
  /// The role of the member.
  public let role: MemberRole
  /// Whether anything was changed; false if the member already had the role or the name.
  public let isChanged: Bool

  private enum CodingKeys: String, CodingKey {
    case device
    case name
    case previousName
    case role
    case isChanged = "changed"
  }
}

/// Promotes or renames a member, by a new certificate.
package struct CertificateOperation {
  private let core: NodeCore

  package init(_ core: NodeCore) { self.core = core }

  /// Issues the new certificate, unless it would change nothing.
  package func certify(_ request: CertificateRequest) throws -> MemberChange {
    try core.checkAdmitted()
    let old = try request.device.map { try core.member(named: $0) } ?? ownMember()
    guard let changed = try changed(old, request) else { return MemberChange(old, isChanged: false) }
    let key =
      try request.rootKey.map {
        try RootKey.read(
          $0, at: core.home, of: core.circle, core.passphrases(request.passphrase),
          for: "Certifying a device from here")
      } ?? core.identity.signing
    let statement = try Statement(
      signing: DeviceCertificate(
        circle: core.circle.id, issuer: DeviceKey(key), device: old.device, transport: old.transport,
        name: changed.name, role: changed.role,
        // The certificate with the latest time names the device, whatever the clocks of earlier signers said.
        issued: min(max(core.wall(), old.issued + 1), Limits.timeMillisecondsMax)), with: key)
    var trial = core.circle
    trial.insert([statement])
    guard let new = trial.evaluation.members[old.device], (new.name, new.role) == changed else {
      throw refusal(of: statement, in: trial, for: old, request)
    }
    try core.add([statement])
    let change = MemberChange(new, previousName: old.name, isChanged: true)
    core.logger.info("circle", change.logText)
    return change
  }

  /// Returns the name and role of the new certificate; nil if the member has them already.
  private func changed(_ old: Member, _ request: CertificateRequest) throws -> (name: String, role: Role)? {
    switch request.change {
    case .promotion:
      // The root key can promote an admin again, so that it stays one whatever happens to the admin that promoted it.
      let evaluation = core.circle.evaluation
      let isLasting = request.rootKey == nil || evaluation.isAdmin(old.device, by: core.circle.genesis.root)
      return old.role == .admin && isLasting ? nil : (old.name, .admin)
    case .name(let name):
      guard !name.isEmpty else { throw WaymarkError.badValue("NAME", name, allowed: "1 to 64 bytes") }
      guard let name = try core.connections.names.checked(name, for: old) else { return nil }
      return (name, old.role)
    }
  }

  private func ownMember() throws -> Member {
    guard let own = core.connections.member else { throw WaymarkError.notAdminHere }
    return own
  }

  private func refusal(
    of statement: Statement, in trial: Circle, for member: Member, _ request: CertificateRequest
  ) -> WaymarkError {
    if trial.statement(statement.id) == nil { return .noRoomForCertificate }
    guard core.connections.member?.role == .admin || request.rootKey != nil else {
      let admin = core.circle.evaluation.members.values.filter { $0.role == .admin }
        .map { core.connections.names.name(of: $0.device) }.min()
      return .notAdminForCertificate(request, member, admin)
    }
    return .chainTooLong
  }
}

extension MemberChange {
  fileprivate init(_ member: Member, previousName: String? = nil, isChanged: Bool) {
    self.init(
      device: member.device, name: member.name, previousName: previousName ?? member.name,
      role: MemberRole(member.role), isChanged: isChanged)
  }

  fileprivate var logText: String {
    name == previousName ? "\(name) is an admin now" : "\(previousName) is called \(name) now"
  }
}

extension WaymarkError {
  fileprivate static func notAdminForCertificate(
    _ request: CertificateRequest, _ member: Member, _ admin: String?
  ) -> WaymarkError {
    let what: String
    let command: String
    switch request.change {
    case .promotion:
      what = "make a device an admin"
      command = "members promote \(shellWord(member.name))"
    case .name(let name):
      what = "change the name that all devices show"
      command = "rename --device \(shellWord(member.name)) \(shellWord(name))"
    }
    return .failed(
      .notAdmin, "This device is not an admin of the circle and can't \(what).",
      next: "\(waymark: command, on: admin ?? "an admin device"); or here, with the root key: --root-key FILE"
    )
  }

  fileprivate static let notAdminHere = failed(
    .notAdmin, "This device is not a member of the circle.", next: .waymark("members"))

  fileprivate static let noRoomForCertificate = failed(
    .noRoom, "The circle holds the maximum number of statements by this device. Nothing was changed.",
    next: "repeat this on another admin device (\(waymark: "members")), or with the root key: --root-key FILE"
  )

  fileprivate static let chainTooLong = failed(
    .notAdmin,
    "This device is the last link of the longest possible chain of admins, so devices that it certifies don't count.",
    next: "repeat this on the device that founded the circle, or with the root key: --root-key FILE")
}
