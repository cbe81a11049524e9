import Console
import Control
import Waymark
import WaymarkCare

extension ListPeers: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["peers", "list"], summary: "list the other devices, and the addresses that were added",
    impliesLastWord: true, exampleArguments: "")

  func rows(of answer: Answer) -> DocumentRows? {
    DocumentRows(key: "peers", ids: answer.peers.map(\.device.description))
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    guard !answer.peers.isEmpty else {
      rendering.notes.paragraph("No other device yet. Next: \(waymark: "invite")")
      return rendering.addresses(answer.addresses)
    }
    var table = rendering.peerTable(answer.peers, showsPlaces: true)
    table.isList = true
    rendering.data.table(table)
    rendering.addresses(answer.addresses)
    // A cause that concerns several peers, or this device itself, is listed only once.
    for cause in answer.reasons where cause.peer == nil && !cause.consequences.isEmpty {
      let next = cause.next.map { ": \(rendering.words($0))" } ?? "."
      // The name of a device is never changed, not even at the beginning of a sentence.
      let text = printable(cause.text)
      let beginsWithName = answer.peers.contains { text.hasPrefix(printable($0.name)) }
      rendering.notes.paragraph((beginsWithName ? text : text.capitalizedFirst) + next)
    }
  }
}

extension AddPeer: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["peers", "add"], summary: "add an address to dial",
    operands: [.init(placeholder: "ADDR:PORT", key: "address")],
    details: """
      The device at this address must be in the circle. Instead of a numeric address, a host name can be given; it
      is looked up at each attempt. waymark peers lists the added addresses.
      """, exampleArguments: "192.168.1.20:7433")

  func render(_ answer: Answer, into rendering: inout Rendering) {
    rendering.notes.paragraph("This device now also dials \(printable(answer.address)).")
  }
}

extension RemovePeer: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["peers", "remove"], summary: "remove an address that was added",
    operands: [.init(placeholder: "ADDR:PORT", key: "address")],
    details: """
      This device no longer dials the address, unless the device there announces it. To stop exchanging data with a
      device: waymark peers pause, or waymark revoke.
      """, exampleArguments: "192.168.1.20:7433")

  func render(_ answer: Answer, into rendering: inout Rendering) {
    rendering.notes.paragraph("Removed \(printable(answer.address)).")
  }
}

extension PausePeer: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["peers", "pause"], summary: "pause the exchange with a peer",
    operands: [.init(placeholder: "PEER", key: "peer")], exampleArguments: "phone")

  func render(_ answer: PausedPeer, into rendering: inout Rendering) {
    let name = printable(answer.name)
    rendering.notes.paragraph("Paused: this device no longer exchanges data with \(name).")
    rendering.notes.paragraph("To resume: \(waymark: "peers resume \(shellWord(name))")")
  }
}

extension ResumePeer: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["peers", "resume"], summary: "resume the exchange with a peer",
    operands: [.init(placeholder: "PEER", key: "peer")], exampleArguments: "phone")

  func render(_ answer: PausedPeer, into rendering: inout Rendering) {
    rendering.notes.paragraph("Resumed: this device exchanges data with \(printable(answer.name)) again.")
  }
}

extension PingPeer: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["peers", "ping"], summary: "measure the round trip to a connected peer",
    operands: [.init(placeholder: "PEER", key: "peer")],
    options: [.init(flag: "--count", placeholder: "N", summary: "how many times; default 3")],
    exampleArguments: "phone --count 5")

  func render(_ answer: PingResult, into rendering: inout Rendering) {
    let trips = answer.roundTrips.map { "\($0.milliseconds) ms" }.joined(separator: ", ")
    let place = answer.address.map { " at \(printable($0))" } ?? ""
    rendering.data.paragraph("\(printable(answer.name))\(place) answers: \(trips)", indent: 2)
  }
}

extension RenamePeer: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["peers", "rename"], summary: "set the name of a peer on this device",
    operands: [
      .init(placeholder: "PEER", key: "peer"), .init(placeholder: "NAME", key: "name", isOptional: true),
    ],
    details: "Without NAME the peer gets its own name again. Other devices always use its own name.",
    exampleArguments: "phone 'old phone'")

  func render(_ answer: Answer, into rendering: inout Rendering) {
    rendering.notes.paragraph(
      answer.name == answer.ownName
        ? "\(printable(answer.ownName)) is shown under its own name again."
        : "\(printable(answer.ownName)) is now called \(printable(answer.name)) on this device.")
  }
}
