import Console
import Control
import Waymark
import WaymarkCare

extension ListMembers: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["members", "list"], summary: "list the devices of the circle, including revoked ones",
    impliesLastWord: true, exampleArguments: "")

  func rows(of answer: Answer) -> DocumentRows? {
    DocumentRows(key: "members", ids: answer.members.map(\.device.description))
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    var table = TextTable([
      .init("NAME", widthMin: 12), .init("DEVICE"), .init("ROLE"), .init("LAST SEEN"), .init("WRITTEN"),
      .init("STATE", widthMin: 24),
    ])
    (table.wrapsLast, table.isList) = (true, true)
    for member in answer.members {
      table.rows.append([
        .init(member.name, member.isOwn ? .strong : .none),
        .init(rendering.data.isPiped ? member.device.description : shortID(member.device.description)),
        .init(member.role.rawValue), .init(member.isOwn ? "" : rendering.time.ago(member.lastSeen)),
        .init(written(member)),
        state(member, rendering.time),
      ])
    }
    rendering.data.table(table)
  }

  /// What a device has written in both lanes, and the quota of a lane of which it has used a tenth: `1.2 MiB`,
  /// `210 MiB of 1 GiB`.
  private func written(_ member: CircleMember) -> String {
    let large = member.usage.filter { $0.bytes >= $0.quota / 10 }
    guard large.isEmpty else {
      return large.map { "\(sizeText($0.bytes)) of \(sizeText($0.quota)) \($0.lane)" }.joined(separator: ", ")
    }
    return sizeText(member.usage.reduce(0) { $0 &+ $1.bytes })
  }

  private func state(_ member: CircleMember, _ time: TimeText) -> TextTable.Cell {
    guard member.isRevoked else {
      guard !member.isLeaving else {
        return .init(
          "\(member.isOwn ? "this device, " : "")leaving: an admin completes that when connected", .careful)
      }
      return .init(member.isOwn ? "this device" : "member of the circle")
    }
    if member.isLeaving {
      let ago = member.revocations.first.map { " " + time.ago($0.issued) } ?? ""
      return .init("\(member.isOwn ? "this device, " : "")left the circle\(ago)")
    }
    let by = member.revocations.map { "by \($0.byName) \(time.ago($0.issued))" }.joined(
      separator: ", ")
    var parts = ["\(member.isOwn ? "this device, revoked" : "revoked") \(by)"]
    if !member.notHeard.isEmpty {
      parts.append("not yet known to: \(member.notHeard.map(\.name).joined(separator: ", "))")
    }
    return .init(parts.joined(separator: " · "), .bad)
  }
}

extension Revoke: TypedConfirmationCommand {
  static let syntax = CommandSpec(
    words: ["revoke"], summary: "remove a device from the circle permanently",
    operands: [.init(placeholder: "DEVICE", key: "device", isRepeated: true)],
    options: [
      .init(
        flag: "--with-invited", placeholder: nil,
        summary: "also revoke the devices that it invited, and withdraw its promotions"),
      .init(
        flag: "--undo-revocations", placeholder: nil,
        summary: "re-admit the devices that it had revoked"),
      .init(
        flag: "--discard", placeholder: nil,
        summary: "also discard everything that it wrote, on all devices"),
      .init(
        flag: "--before-erase", placeholder: nil,
        summary: "keep only what it wrote before its mass erase, and bring the erased records back"),
      CommandTable.rootKey("sign with the circle's root key; no admin can undo that"),
      .init(flag: "--preview", placeholder: nil, summary: "show the consequences; change nothing"),
    ],
    details: """
      For a device that was lost, stolen or given away. Those of its changes that have arrived here are kept;
      every device rejects its other changes as soon as it learns of the revocation. The device can't return
      with its keys: to re-admit it, use waymark invite and waymark join. See waymark help revoking.

      With --discard, every device drops all changes of the device, including those that have arrived: records
      that it created disappear, and others show the values that they had before. This can't be undone. You
      confirm it by typing the name of the device; in scripts, use --yes. Each device gives the disk space back
      after 7 days, or within an hour if the root key signs the revocation.

      An erase by another device of more than a quarter of a kind, and of at least 20 records, hides the
      records at once, but this device keeps their values for seven days; waymark status names the device
      (mass_erase). Within that time, --before-erase drops the erase and everything that the device wrote
      after it.
      """,
    exampleArguments: "phone --preview")

  static func confirmation(of preview: RevocationSummary) -> (question: String, word: String)? {
    guard preview.isDiscarding, let first = preview.revoked.first else { return nil }
    return ("\(preview.text)", preview.revoked.count == 1 ? first.name : "\(preview.revoked.count)")
  }

  func render(_ answer: RevocationSummary, into rendering: inout Rendering) {
    rendering.data.paragraph(printable(answer.text))
    if !answer.isDone {
      for line in answer.notes { rendering.notes.paragraph(printable(line), indent: 2) }
    }
    rendering.notes.next(answer.next)
  }
}

extension GrantRoom: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["grant"], summary: "let a device write more",
    operands: [
      .init(placeholder: "DEVICE", key: "device"), .init(placeholder: "SIZE", key: "size"),
    ],
    options: [
      .init(
        flag: "--settings", placeholder: nil, summary: "grant room for settings; by default, for records"),
      CommandTable.rootKey("sign with the circle's root key; needed if this device is not an admin"),
    ],
    details: """
      Each device may write 1 GiB of records and 4 MiB of settings, so that a stolen or faulty device can't
      fill the disks of the others. What a device writes beyond its quota is not stored by any device until an
      admin grants it more. SIZE is the new quota: 500MiB, 2GiB. A quota can't be reduced. Half of it can be used
      at once; the rest is reserved for restored and copied stores of the device.

      waymark members shows what each device has written. If a device writes more than it should, see waymark
      help revoke, option --discard.
      """,
    exampleArguments: "phone 2GiB")

  func render(_ answer: GrantSummary, into rendering: inout Rendering) {
    rendering.data.paragraph(
      printable(
        "\(answer.name) may write \(sizeText(answer.quota)) of \(answer.lane), instead of "
          + "\(sizeText(answer.previous)); \(sizeText(answer.bytes)) are written."))
  }
}

extension PromoteMember: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["members", "promote"], summary: "make a member an admin, which may invite and revoke devices",
    operands: [.init(placeholder: "DEVICE", key: "device")],
    options: [CommandTable.rootKey("sign with the circle's root key; needed if this device is not an admin")],
    details: """
      A circle with a second admin survives the loss of the first: the second one can revoke the lost device and
      invite others. An admin may revoke any device, including the one that promoted it, and can't be made a
      member again except by revoking the device that promoted it (waymark help revoke, option --with-invited).
      """,
    exampleArguments: "phone")

  func render(_ answer: MemberChange, into rendering: inout Rendering) {
    let name = printable(answer.name)
    rendering.notes.paragraph(
      answer.isChanged
        ? "\(name) is an admin now: it may invite and revoke devices." : "\(name) is already an admin.")
  }
}

extension RenameDevice: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["rename"], summary: "rename this device for all devices",
    operands: [.init(placeholder: "NAME", key: "name")],
    options: [
      .init(flag: "--device", placeholder: "DEVICE", summary: "rename this device instead"),
      CommandTable.rootKey("sign with the circle's root key; needed if this device is not an admin"),
    ],
    details: """
      The name is part of the certificate that an admin signs, so only an admin can change it: if this device is a
      member, run the command with --device on an admin device. To change how a peer is shown on this device
      only: waymark peers rename.
      """,
    exampleArguments: "'Anna laptop'")

  func render(_ answer: MemberChange, into rendering: inout Rendering) {
    let name = printable(answer.name)
    rendering.notes.paragraph(
      answer.isChanged
        ? "\(printable(answer.previousName)) is called \(name) now, on all devices."
        : "The name is already \(name); nothing was changed.")
  }
}

extension LeaveCircle: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["members", "leave"], summary: "leave the circle with this device",
    details: """
      Everything stays readable on this device, and the other devices keep what it wrote. An admin leaves at once; any
      other device asks to leave, and the next admin device that it connects to completes that. The only admin
      can't leave while other devices remain: promote one of them first (waymark members promote). To come
      back, the device joins with a new ticket.
      """,
    exampleArguments: "--yes")

  func render(_ answer: DepartureSummary, into rendering: inout Rendering) {
    rendering.data.paragraph(printable(answer.text))
    if !answer.told.isEmpty {
      rendering.notes.paragraph("Told: \(answer.told.map { printable($0.name) }.joined(separator: ", ")).")
    }
    rendering.notes.next(answer.next)
  }
}
