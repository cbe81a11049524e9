import Control
import Foundation
import JSONDocument
import Synchronization
import Waymark

/// Commands that come before there is a store, or need none.
enum LocalCommands {
  /// `init`: a new circle with this device as its founder.
  static func initialize(_ invocation: Invocation, _ home: Home) throws -> JSON {
    let issuers = try invocation["issuer"].map { [try Issuer.readPublicKey($0)] } ?? []
    let made = try Node.initialize(
      home: home, name: try invocation["name"] ?? Configuration(home: home).name ?? hostName, issuers: issuers
    )
    var document = made.document("init")
    document["keysAside"] = made.keysAside.map(JSON.string) ?? .null
    return document
  }

  /// `join`: the ticket is the first line of standard input, an answer at the terminal, or an argument.
  static func join(_ invocation: Invocation, _ home: Home, _ terminal: Terminal) async throws -> JSON {
    if let rootKey = invocation["rootKey"] { return try await readmit(invocation, home, rootKey) }
    let ticket = try ticket(invocation, home, terminal)
    let wanted = try invocation["name"] ?? Configuration(home: home).name
    let isConfirmed = invocation.arguments["yes"]?.boolean == true
    let joining = try Joining(
      home: home, ticket: ticket, name: wanted ?? hostName, keepsFormerName: wanted == nil)
    let preview = try await joining.preview()
    if let preview, preview.total > 0, !isConfirmed { throw needsYes(preview, home) }
    let joined = try await joining.join(isConfirmed: isConfirmed)
    var document = joined.document("join")
    let counts = preview?.counts.map { JSON.Member($0.plural, .integer($0.count)) } ?? []
    document["brought"] = .object(counts)
    document["wasMember"] = .bool(joined.wasMember)
    document["askedName"] = .text(wanted)
    document["formerMember"] =
      joined.formerMember.map { ["device": .string($0.device.description), "name": .string($0.name)] }
      ?? .null
    return document
  }

  /// What was typed, else the first line of standard input; without either, the ticket of an interrupted join, or the
  /// answer of the person at the terminal.
  private static func ticket(_ invocation: Invocation, _ home: Home, _ terminal: Terminal) throws -> String {
    let typed = invocation["ticket"]
    let ticket =
      switch typed {
      case "-": Self.line
      case nil: interrupted(home, terminal) ?? (terminal.canAsk ? asked(terminal) : nil)
      default: typed
      }
    guard let ticket = ticket?.trimmingCharacters(in: .whitespacesAndNewlines), !ticket.isEmpty else {
      throw typed == "-"
        ? WaymarkError.usage(
          "No ticket came in on standard input.", next: "waymark invite | waymark join -")
        : WaymarkError.usage(
          "`waymark join` needs a ticket.",
          next: "waymark invite, on a device of the circle; then here waymark join, and paste the ticket")
    }
    return ticket
  }

  private static func interrupted(_ home: Home, _ terminal: Terminal) -> String? {
    guard let ticket = Joining.pendingTicket(in: home) else { return nil }
    terminal.note("Continuing the join that was interrupted.")
    return ticket
  }

  /// Asks once: after a yes the command runs a second time, and needs the same ticket.
  private static func asked(_ terminal: Terminal) -> String? {
    let isFirst = hasAsked.withLock { asked in
      defer { asked = true }
      return !asked
    }
    if isFirst { terminal.transient("Ticket (from waymark invite): ") }
    return line
  }

  private static let hasAsked = Mutex(false)

  /// The first line of standard input: after a yes the command runs a second time, and the line does not come twice.
  private static let line = readLine()

  /// `join --root-key FILE`: the root key in place of a ticket.
  private static func readmit(_ invocation: Invocation, _ home: Home, _ rootKey: String) async throws -> JSON
  {
    guard invocation["ticket"] == nil else {
      throw WaymarkError.usage("`join` takes a ticket or --root-key, not both.", next: "waymark help join")
    }
    let readmission = Readmission(
      home: home, name: invocation["name"], hostName: try Configuration(home: home).name ?? hostName,
      rootKey: rootKey)
    return try await readmission.join().document("join")
  }

  private static func needsYes(_ preview: JoinPreview, _ home: Home) -> WaymarkError {
    let counts = preview.counts.map { counted(Int64($0.count), $0.kind.rawValue, $0.plural) }
      .joined(separator: ", ")
    return WaymarkError(
      exitCode: ExitCode.needsYes, code: "needs_yes",
      message: "This device has data of its own: \(counts). It comes along into the new circle, and a backup "
        + "of the store as it is goes to \(home.backups).",
      next: "waymark join --yes")
  }

  /// `restore FILE`: needs the store to itself, so it never goes to a running node.
  static func restore(_ invocation: Invocation, _ home: Home, _ events: EventPrinter) async throws -> JSON {
    var order = Restoring.Order(
      file: invocation["file"] ?? "",
      name: try invocation["name"] ?? Configuration(home: home).name ?? hostName)
    order.rootKey = invocation["rootKey"]
    order.foundsCircle = invocation.arguments["newCircle"]?.boolean == true
    order.isPartial = invocation.arguments["partial"]?.boolean == true
    if order.rootKey != nil, order.foundsCircle {
      throw WaymarkError.usage(
        "--root-key is for the circle of the backup, --new-circle leaves it: give one.",
        next: "waymark help restore")
    }
    return try await Restoring(home: home, order: order).perform(
      isConfirmed: invocation.arguments["yes"]?.boolean == true,
      isPreview: invocation.arguments["preview"]?.boolean == true
    ) { (try? AnswerCoding.decode(CommandEvent.self, from: $0)).map(events.handle) }
  }

  /// What a device is called if nobody says: the machine's name, without its domain.
  static var hostName: String {
    let name = ProcessInfo.processInfo.hostName.prefix { $0 != "." }
    return name.isEmpty ? "device" : String(name.prefix(32))
  }
}

extension NewMembership {
  func document(_ command: String) -> JSON {
    [
      "schema": .string("waymark.\(command)/1"), "circle": .string(circle.description),
      "device": .string(device.description), "name": .string(name), "rewritten": .integer(Int64(rewritten)),
    ]
  }
}
