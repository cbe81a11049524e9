import Console
import Control
import Platform
import Waymark
import WaymarkCare

extension ShowPremium: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["premium", "show"], summary: "show whether you have premium, and until when",
    impliesLastWord: true, exampleArguments: "")

  func render(_ answer: PremiumSummary, into rendering: inout Rendering) { rendering.premium(answer) }
}

extension IssueOwnPremium: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["premium", "self"], summary: "issue premium to all devices of your own circle",
    options: [
      untilOption("end at this time, or at the end of this day in UTC; default in a year"),
      CommandTable.rootKey("the root key, if it is stored elsewhere"),
    ],
    details: """
      Needs the circle's root key the first time. The device keeps an issuer's key, keys/issuer.key, and its
      running node renews premium when less than 30 days are left. Running the command again changes nothing
      unless a renewal is due or --until is later. waymark help premium says what this premium is not.
      """, exampleArguments: "")

  func render(_ answer: OwnPremiumSummary, into rendering: inout Rendering) {
    let until = rendering.time.end(answer.until)
    rendering.data.line("premium until \(until) · all devices of this circle", .good)
    if !answer.issued {
      rendering.notes.paragraph("It was issued earlier and lasts long enough; nothing was changed.")
    }
    if !answer.preference { rendering.notes.next(.waymark("sync on --everywhere")) }
  }
}

private func untilOption(_ summary: String, isRequired: Bool = false) -> CommandSpec.Option {
  .init(flag: "--until", placeholder: "TIME", summary: summary, isRequired: isRequired)
}

extension InstallEntitlement: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["entitlement", "install"],
    summary: "install an entitlement or an App Store purchase; - for standard input",
    operands: [.init(placeholder: "FILE|-", key: "file", type: .path, dash: .standardInput)],
    details: """
      FILE is what waymark issuer issue wrote, or the text of a signed StoreKit transaction (a JWS), with that of
      its renewal info after it, if there is one.
      """, exampleArguments: "entitlement")

  func render(_ answer: Answer, into rendering: inout Rendering) {
    rendering.data.line(rendering.premiumText(answer.premium), answer.premium.isActive ? .good : .none)
    guard let purchase = answer.purchase else { return }
    if !answer.added {
      rendering.notes.paragraph("The circle knows this purchase already; nothing was changed.")
    }
    if purchase.state == .unjudged { rendering.notes.next(Reason.purchaseUnjudged.next()) }
  }
}

extension RemoveEntitlement: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["entitlement", "remove"], summary: "remove entitlements, on all devices and for good",
    operands: [.init(placeholder: "ID", key: "ids", isRepeated: true)],
    options: [
      CommandTable.rootKey("the root key, if it is stored elsewhere"),
      .init(
        flag: "--key", placeholder: "FILE",
        summary: "sign with the key of the issuer that signed the entitlements", type: .path),
    ],
    details: """
      ID is shown by waymark premium. The root key may remove every entitlement, an issuer those that it signed.
      A removed entitlement can't be installed again; another one can. If you remove all premium that the circle
      has issued to itself, it is no longer renewed; waymark premium self issues new premium. A purchase in the
      App Store can't be removed here: it is refunded in the App Store.
      """, exampleArguments: "3f2a91c0")

  func render(_ answer: WithdrawalSummary, into rendering: inout Rendering) {
    rendering.withdrawn(
      answer, plural(answer.entitlements.count, "entitlement"),
      nothing: "Already removed; nothing was changed.")
  }
}

extension BuyMockPremium: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["entitlement", "buy"], summary: "make a mock purchase of premium",
    options: [
      mockOption, untilOption("valid until this time, or the end of this day in UTC"),
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
  flag: "--mock", placeholder: nil, summary: "required, because this is not a real purchase",
  isRequired: true)

extension Rendering {
  fileprivate mutating func premium(_ summary: PremiumSummary) {
    if let text = summary.text {
      data.line(data.paint("not in the circle", .bad))
      data.paragraph(printable(text))
      notes.next(summary.next)
    } else {
      let product = summary.product.map { " · \(printable($0))" } ?? ""
      data.line(premiumText(summary.premium) + product, summary.premium.isActive ? .good : .none)
      if !summary.premium.isActive { notes.next(summary.next) }
    }
    purchases(summary.purchases)
    guard !summary.entitlements.isEmpty else { return }
    var table = TextTable([
      .init("ID"), .init("FROM"), .init("UNTIL"), .init("DEVICES", widthMin: 12), .init("SOURCE"),
      .init("STATE"),
    ])
    for item in summary.entitlements {
      let devices = item.devices?.map { shortID($0.description) }
      table.rows.append([
        .init(data.isPiped ? item.id : shortID(item.id)),
        .init(time.utc(item.notBefore)), .init(time.end(item.notAfter)),
        .init(devices.map { $0.joined(separator: " ") } ?? "all"), .init(item.source),
        .init(item.state.rawValue),
      ])
    }
    data.gap()
    data.table(table)
  }
}

extension Rendering {
  private mutating func purchases(_ purchases: [PurchaseSummary]) {
    guard !purchases.isEmpty else { return }
    var table = TextTable([
      .init("PRODUCT", widthMin: 12), .init("UNTIL"), .init("CONFIRM BY"), .init("INSTALLED ON"),
      .init("STATE"),
    ])
    for item in purchases {
      table.rows.append([
        .init(printable(item.product) + (item.isSandbox ? " (sandbox)" : "")),
        .init(item.until.map(time.end) ?? "for life"), .init(item.trustedUntil.map(time.end) ?? "–"),
        .init(printable(item.deviceName)), .init(item.state.rawValue),
      ])
    }
    data.gap()
    data.table(table)
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

extension ListIssuers: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["issuer", "list"], summary: "list the issuers that this circle trusts or has trusted",
    exampleArguments: "")

  func render(_ answer: Answer, into rendering: inout Rendering) {
    guard !answer.items.isEmpty else {
      return rendering.notes.paragraph(
        "This circle trusts no issuer. Next: \(waymark: "premium self"), or \(waymark: "issuer trust FILE.pub")"
      )
    }
    var table = TextTable([
      .init("ISSUER"), .init("STATE"), .init("ENTITLEMENTS", isRight: true), .init("UNTIL"),
      .init("SOURCES"),
    ])
    for item in answer.items {
      table.rows.append([
        .init(item.issuer.description), .init(item.withdrawn ? "withdrawn" : "trusted"),
        .init("\(item.entitlements)"),
        .init(item.until.map(rendering.time.end) ?? "–"), .init(item.sources.joined(separator: ", ")),
      ])
    }
    rendering.data.table(table)
  }
}

/// `issuer issue`: the certificate goes to the file that `--output` names, else to standard output.
struct IssueEntitlement: TerminalCommand {
  var key: String
  var circle: String?
  var device: [String]?
  var until: String
  var from: String?
  var output: String?
  var yes: Bool?
  var isReadOnly: Bool { output == nil }

  struct Answer: Codable {
    /// The file that the certificate was written to; nil for standard output.
    var output: String?
    var certificate: String?
    let circle: CircleID
    /// Whether that is the circle of this home.
    let isOwnCircle: Bool
    /// When the entitlement ends.
    let until: Date

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      if let output { try container.encode(output, forKey: .output) }
      if let certificate { try container.encode(certificate, forKey: .certificate) }
      try container.encode(circle, forKey: .circle)
      try container.encode(isOwnCircle, forKey: .isOwnCircle)
      try container.encode(until, forKey: .until)
    }
  }

  static let syntax = CommandSpec(
    words: ["issuer", "issue"], summary: "sign an entitlement",
    options: [
      .init(
        flag: "--key", placeholder: "FILE", summary: "the issuer's key", type: .path, isRequired: true),
      .init(
        flag: "--circle", placeholder: "ID", summary: "the circle that gets premium; default this home's"),
      .init(
        flag: "--device", placeholder: "ID", summary: "only for this device; can be repeated",
        isRepeated: true),
      untilOption("valid until this time, or the end of this day in UTC", isRequired: true),
      .init(
        flag: "--from", placeholder: "TIME",
        summary: "valid from this time, or from the start of this day in UTC; default now"),
      .init(
        flag: "--output", placeholder: "FILE", summary: "write to FILE, not to standard output", type: .path,
        dash: .standardOutput),
    ], exampleArguments: "--key issuer --until 2027-12-31 --output entitlement")

  func run(_ run: CommandContext) async throws -> Answer {
    let own = try await ownCircle(run, named: circle)
    guard let circle = circle ?? own?.description else { throw WaymarkError.noStore(run.home) }
    let request = Issuer.EntitlementRequest(
      keyFile: key, circle: circle, devices: device ?? [], until: until, from: from)
    let issued = try Issuer.issue(request, now: systemWall(), passphrases: run.home.passphrases)
    return try Answer(issued, own, to: output, overwrites: yes == true, run)
  }

  /// A certificate on standard output was already written by `run`.
  func render(_ answer: Answer, into rendering: inout Rendering) {
    rendering.issued(answer, to: device.map { $0.isEmpty ? nil : plural($0.count, "device") } ?? nil)
  }
}

extension IssueEntitlement.Answer {
  /// Writes an entitlement to a file or to standard output.
  fileprivate init(
    _ issued: Issuer.IssuedEntitlement, _ own: CircleID?, to output: String?, overwrites: Bool,
    _ run: CommandContext
  ) throws {
    (circle, isOwnCircle) = (issued.circle, issued.circle == own)
    until = Date(milliseconds: issued.notAfter)
    if let output = try output.map({ try OutputFile.path($0, naturally: "entitlement") }) {
      try Issuer.write(issued.text, to: output, besides: run.home, overwrites: overwrites)
      self.output = output
      return
    }
    if !run.printsJSON { run.terminal.raw(issued.text) }
    certificate = issued.text.trimmed
  }
}

/// The circle of this home; nil if there is no store here, as on the machine of a shop.
///
/// - Parameter named: the circle that the person named. Then this home is not needed.
private func ownCircle(_ run: CommandContext, named: String?) async throws -> CircleID? {
  guard run.home.hasStore else { return nil }
  do { return try await ControlClient.perform(ShowStatus(), home: run.home).circle } catch {
    guard named != nil else { throw error }
    return nil
  }
}

extension Rendering {
  /// - Parameter devices: how many devices get premium, as text; nil for all devices.
  fileprivate mutating func issued(_ answer: IssueEntitlement.Answer, to devices: String? = nil) {
    guard let output = answer.output else { return }
    let circle = answer.isOwnCircle ? "this circle" : "circle \(shortID(answer.circle.description))"
    notes.paragraph(
      "Wrote entitlement: \(circle), \(devices ?? "all devices"), until \(time.end(answer.until)). "
        + "Next: \(waymark: "entitlement install \(shellWord(output))", on: answer.isOwnCircle ? nil : "a device of that circle")"
    )
  }
}

/// `issuer from-purchase`: turns a purchase in the App Store into an entitlement, for circles with builds that can't
/// verify purchases.
struct IssueFromPurchase: TerminalCommand {
  var file: String
  var key: String
  var circle: String?
  var output: String?
  var yes: Bool?
  var isReadOnly: Bool { output == nil }

  typealias Answer = IssueEntitlement.Answer

  static let syntax = CommandSpec(
    words: ["issuer", "from-purchase"], summary: "sign an entitlement for a purchase in the App Store",
    operands: [.init(placeholder: "FILE", key: "file", type: .path)],
    options: [
      .init(
        flag: "--key", placeholder: "FILE", summary: "the issuer's key", type: .path, isRequired: true),
      .init(
        flag: "--circle", placeholder: "ID", summary: "the circle of the purchase; default this home's"),
      .init(
        flag: "--output", placeholder: "FILE", summary: "write to FILE, not to standard output", type: .path,
        dash: .standardOutput),
    ],
    details: """
      For circles with devices whose build can't verify purchases. Needs a build with the trait AppStore. The
      entitlement ends when the purchase does, at most 35 days after the App Store confirmed it.
      """, exampleArguments: "purchase.jws --key issuer --output entitlement")

  func run(_ run: CommandContext) async throws -> Answer {
    let own = try await ownCircle(run, named: circle)
    guard let circle = circle ?? own?.description else { throw WaymarkError.noStore(run.home) }
    guard let purchase = try Issuer.readPurchase(file) else {
      throw WaymarkError.failed(
        .purchaseUnreadable, "\(file) does not contain a signed transaction of the App Store.",
        next: "pass the jwsRepresentation of a StoreKit transaction")
    }
    let issued = try Issuer.issue(
      purchase, keyFile: key, circle: circle, home: run.home, now: systemWall(),
      passphrases: run.home.passphrases)
    return try Answer(issued, own, to: output, overwrites: yes == true, run)
  }

  /// A certificate on standard output was already written by `run`.
  func render(_ answer: Answer, into rendering: inout Rendering) { rendering.issued(answer) }
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

extension UntrustIssuer: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["issuer", "untrust"], summary: "stop accepting an issuer's entitlements",
    operands: [.init(placeholder: "ISSUER", key: "issuer")],
    options: [CommandTable.rootKey("the root key, if it is stored elsewhere")],
    details: """
      ISSUER is the key that waymark issuer list shows, or its first digits. All entitlements of the issuer stop
      counting, on all devices: records stop syncing where there is no other premium. Nothing is deleted. This
      can't be undone: the circle never trusts the same key again.
      """, exampleArguments: "3f2a91c0")

  func render(_ answer: WithdrawalSummary, into rendering: inout Rendering) {
    let count = answer.entitlements.count
    rendering.withdrawn(
      answer, "the trust in an issuer" + (count == 0 ? "" : " and \(plural(count, "entitlement"))"),
      nothing: "This issuer was already withdrawn; nothing was changed.")
  }
}

extension Rendering {
  /// - Parameters:
  ///   - what: what was withdrawn.
  ///   - nothing: the sentence for a command that changed nothing.
  fileprivate mutating func withdrawn(_ answer: WithdrawalSummary, _ what: String, nothing: String) {
    data.line(premiumText(answer.premium), answer.premium.isActive ? .good : .none)
    notes.paragraph(answer.withdrawn ? "Withdrew \(what), on all devices." : nothing)
  }
}
