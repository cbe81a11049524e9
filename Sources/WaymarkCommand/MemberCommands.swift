import Control
import Waymark

extension ListMembers: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["members", "list"], summary: "list the devices of the circle, including revoked ones",
    impliesLastWord: true, exampleArguments: "")

  func render(_ answer: Answer, into rendering: inout Rendering) {
    var table = TextTable([
      .init("NAME", widthMin: 12), .init("DEVICE"), .init("ROLE"), .init("LAST SEEN"),
      .init("STATE", widthMin: 24),
    ])
    table.wrapsLast = true
    for member in answer.members {
      table.rows.append([
        .init(member.name, member.isOwn ? .strong : .none),
        .init(shortID(member.device.description)),
        .init(member.role.rawValue), .init(member.isOwn ? "" : rendering.time.ago(member.lastSeen)),
        state(member, rendering.time),
      ])
    }
    rendering.data.table(table)
  }

  private func state(_ member: CircleMember, _ time: TimeText) -> TextTable.Cell {
    guard member.isRevoked else {
      return .init(member.isOwn ? "this device" : "member of the circle")
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

extension Revoke: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["revoke"], summary: "remove a device from the circle permanently",
    operands: [.init(placeholder: "DEVICE", key: "device", isRepeated: true)],
    options: [
      .init(flag: "--with-invited", placeholder: nil, summary: "also revoke the devices that it invited"),
      .init(
        flag: "--undo-revocations", placeholder: nil,
        summary: "re-admit the devices that it had revoked"),
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

      An erase by another device of more than a quarter of a kind, and of at least 20 records, hides the
      records at once, but this device keeps their values for seven days; waymark status names the device
      (mass_erase). Within that time, --before-erase drops the erase and everything that the device wrote
      after it.
      """,
    exampleArguments: "phone --preview")

  func render(_ answer: RevocationSummary, into rendering: inout Rendering) {
    rendering.data.paragraph(printable(answer.text))
    if !answer.isDone {
      for line in answer.notes { rendering.notes.paragraph(printable(line), indent: 2) }
    }
    rendering.notes.next(answer.next)
  }
}
