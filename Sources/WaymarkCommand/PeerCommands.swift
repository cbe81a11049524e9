import Control
import Waymark

extension PingPeer: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["peers", "ping"], summary: "measure the way to a connected peer and back",
    operands: [.init(placeholder: "PEER", key: "peer")],
    options: [.init(flag: "--count", placeholder: "N", summary: "how many times; default 3")],
    exampleArguments: "phone --count 5")

  func render(_ answer: Peer.Ping, into rendering: inout Rendering) {
    let trips = answer.roundTrips.map { "\($0.milliseconds) ms" }.joined(separator: ", ")
    let place = answer.address.map { " at \(printable($0))" } ?? ""
    rendering.data.paragraph("\(printable(answer.name))\(place) answers: \(trips)", indent: 2)
  }
}

extension RenamePeer: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["peers", "rename"], summary: "call a peer by another name on this device",
    operands: [
      .init(placeholder: "PEER", key: "peer"), .init(placeholder: "NAME", key: "name", isOptional: true),
    ],
    details: "Without NAME by its own name again. Other devices go on using that.",
    exampleArguments: "phone 'old phone'")

  func render(_ answer: Answer, into rendering: inout Rendering) {
    rendering.notes.paragraph(
      answer.name == answer.ownName
        ? "\(printable(answer.ownName)) is called by its own name here."
        : "\(printable(answer.ownName)) is called \(printable(answer.name)) on this device from now on.")
  }
}
