import Control
import Foundation
import Waymark

extension ShowPremium: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["entitlement", "show"], summary: "show whether you have premium, and until when",
    exampleArguments: "")

  func render(_ answer: PremiumSummary, into rendering: inout Rendering) { rendering.premium(answer) }
}

extension InstallEntitlement: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["entitlement", "install"], summary: "install an entitlement",
    operands: [.init(placeholder: "FILE", key: "file", type: .path)], exampleArguments: "entitlement")

  func render(_ answer: Answer, into rendering: inout Rendering) { rendering.premium(answer.premium) }
}

extension BuyMockPremium: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["entitlement", "buy"], summary: "make a mock purchase of premium",
    options: [
      mockOption,
      .init(
        flag: "--until", placeholder: "TIME",
        summary: "valid until this time, or the start of this day in UTC"),
    ], exampleArguments: "--mock --until 2027-12-31")

  func render(_ answer: PremiumSummary, into rendering: inout Rendering) { rendering.premium(answer) }
}

extension CancelMockPremium: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["entitlement", "cancel"], summary: "cancel the mock purchase", options: [mockOption],
    exampleArguments: "--mock")

  func render(_ answer: PremiumSummary, into rendering: inout Rendering) { rendering.premium(answer) }
}

private let mockOption = CommandSpec.Option(
  flag: "--mock", placeholder: nil, summary: "required, because this is not a real purchase")

extension Rendering {
  fileprivate mutating func premium(_ summary: PremiumSummary) {
    if let text = summary.text {
      data.line(data.paint("not in the circle", .bad))
      data.paragraph(printable(text))
      notes.next(summary.next)
    } else {
      premium(summary.premium)
    }
    guard !summary.entitlements.isEmpty else { return }
    var table = TextTable([
      .init("FROM"), .init("UNTIL"), .init("DEVICES", widthMin: 12), .init("SOURCE"), .init("STATE"),
    ])
    for item in summary.entitlements {
      let devices = item.devices?.map { shortID($0.description) }
      table.rows.append([
        .init(time.full(item.notBefore)), .init(time.full(item.notAfter)),
        .init(devices.map { $0.joined(separator: " ") } ?? "all"), .init(item.source),
        .init(item.state.rawValue),
      ])
    }
    data.gap()
    data.table(table)
  }

  fileprivate mutating func premium(_ premium: SyncState.Premium) {
    guard premium.isActive else {
      return data.line("free · settings sync, records stay on this device (waymark help premium)")
    }
    let until = premium.validUntil.map { " until \(time.full($0))" } ?? ""
    data.line("premium\(until) · source: \(premium.source.rawValue)", .good)
  }
}

/// `issuer init`: creates an issuer's key pair, in files of its own.
struct CreateIssuer: TerminalCommand {
  var file: String

  struct Answer: Codable {
    let key: String
    let `public`: String
    let issuer: DeviceKey
  }

  static let syntax = CommandSpec(
    words: ["issuer", "init"], summary: "create an issuer's key pair: FILE and FILE.pub",
    operands: [.init(placeholder: "FILE", key: "file", type: .path)], exampleArguments: "issuer")

  func run(_ run: CommandContext) async throws -> Answer {
    Answer(key: file, public: file + ".pub", issuer: try Issuer.create(file))
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    rendering.data.pairs([
      ("key", printable(answer.key)), ("public", printable(answer.public)),
      ("issuer", answer.issuer.description),
    ])
  }
}

/// `issuer issue`: the certificate goes to the file that `--output` names, else to standard output.
struct IssueEntitlement: TerminalCommand {
  var key: String?
  var circle: String?
  var device: [String]?
  var until: String?
  var from: String?
  var output: String?
  var yes: Bool?
  var isReadOnly: Bool { output == nil }

  struct Answer: Codable {
    /// The file that the certificate was written to; nil for standard output.
    var output: String?
    var certificate: String?

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      if let output { try container.encode(output, forKey: .output) }
      if let certificate { try container.encode(certificate, forKey: .certificate) }
    }
  }

  static let syntax = CommandSpec(
    words: ["issuer", "issue"], summary: "sign an entitlement",
    options: [
      .init(flag: "--key", placeholder: "FILE", summary: "the issuer's key (required)", type: .path),
      .init(flag: "--circle", placeholder: "ID", summary: "the circle that gets premium (required)"),
      .init(
        flag: "--device", placeholder: "ID", summary: "only for this device; can be repeated",
        isRepeated: true),
      .init(
        flag: "--until", placeholder: "TIME",
        summary: "valid until this time, or the start of this day in UTC (required)"),
      .init(flag: "--from", placeholder: "TIME", summary: "valid from this time or day on; default now"),
      .init(
        flag: "--output", placeholder: "FILE", summary: "write to FILE, not to standard output", type: .path),
    ], exampleArguments: "--key issuer --circle ID --until 2027-12-31 --output entitlement")

  func run(_ run: CommandContext) async throws -> Answer {
    let request = Issuer.EntitlementRequest(
      keyFile: try required(key, "--key"), circle: try required(circle, "--circle"), devices: device ?? [],
      until: try required(until, "--until"), from: from)
    let certificate = try Issuer.issue(request, now: systemWall(), passphrases: run.home.passphrases)
    if let output = try output.map({ try OutputFile.path($0, naturally: "entitlement") }) {
      try Issuer.write(certificate, to: output, besides: run.home, overwrites: yes == true)
      return Answer(output: output)
    }
    if !run.printsJSON { run.terminal.raw(certificate) }
    return Answer(certificate: certificate.trimmingCharacters(in: .newlines))
  }

  private func required(_ value: String?, _ flag: String) throws -> String {
    guard let value else {
      throw WaymarkError.usage("`waymark issuer issue` needs \(flag).", next: .waymark("help issuer issue"))
    }
    return value
  }

  /// Writes nothing, because `run` has already written the certificate.
  func render(_ answer: Answer, into rendering: inout Rendering) {}
}

extension TrustIssuer: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["issuer", "trust"], summary: "accept an issuer's entitlements in this circle",
    operands: [.init(placeholder: "FILE.pub", key: "file", type: .path)],
    options: [
      .init(
        flag: "--key", placeholder: "FILE", summary: "the root key, if it is stored elsewhere", type: .path)
    ], exampleArguments: "issuer.pub")

  func render(_ answer: Answer, into rendering: inout Rendering) {
    rendering.data.pairs([
      ("issuer", answer.issuer.description), ("added", answer.added ? "yes" : "no"),
    ])
  }
}
