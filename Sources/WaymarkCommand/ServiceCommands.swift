import Control
import Foundation
import Waymark

/// `service install`: has the system start the node of a home, and start it again.
struct InstallService: TerminalCommand {
  /// Prints what this manager would be given, and writes nothing.
  var print: String?

  struct Answer: Codable {
    let manager: String
    let unit: String
    let home: String
    let program: String
    /// The command that shows what the node has said.
    let log: String
    let text: String
    /// Nil if it was only printed.
    let written: String?
    /// Whether it runs while nobody is logged in; nil where that is not known.
    let lingers: Bool?

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(manager, forKey: .manager)
      try container.encode(unit, forKey: .unit)
      try container.encode(home, forKey: .home)
      try container.encode(program, forKey: .program)
      try container.encode(log, forKey: .log)
      try container.encode(text, forKey: .text)
      try container.encodeIfPresent(written, forKey: .written)
      if written != nil { try container.encodeIfPresent(lingers, forKey: .lingers) }
    }
  }

  static let syntax = CommandSpec(
    words: ["service", "install"], summary: "have the system run this node, from now on and at every login",
    options: [
      .init(
        flag: "--print", placeholder: "systemd|launchd",
        summary: "print what would be written, write nothing",
        type: .words(Service.Manager.allCases.map(\.rawValue)))
    ],
    details: """
      Writes a unit for systemd, or a property list for launchd on a Mac, for this user and this home, and
      starts it. Again after an update or a move of the program. More: waymark help service
      """, exampleArguments: "")

  func run(_ run: CommandRun) async throws -> Answer {
    let printed = print.flatMap(Service.Manager.init(rawValue:))
    let service = Service(run, manager: printed ?? .here)
    try service.checkPaths()
    guard printed == nil else { return answer(service) }
    let manager = ServiceManager(service)
    try check(service, manager, run.home)
    let file = service.file(environment: run.environment)
    try ServiceManager.write(service.text, to: file)
    try manager.start(file)
    return answer(service, written: file)
  }

  private func answer(_ service: Service, written: String? = nil) -> Answer {
    Answer(
      manager: service.manager.rawValue, unit: service.unit, home: service.home, program: service.program,
      log: service.logCommand, text: service.text, written: written,
      lingers: written.flatMap { _ in ServiceManager.lingers() })
  }

  /// What would make the service fail at once.
  private func check(_ service: Service, _ manager: ServiceManager, _ home: Home) throws {
    guard home.hasStore else {
      throw WaymarkError(
        exitCode: ExitCode.noStore, code: .noStore,
        message: "There is no Waymark store in \(home.path) that a service could serve.",
        next: "\(waymark: "init"), or \(waymark: "join TICKET")")
    }
    if home.keyStates.device == .sealed, service.passphraseFile == nil {
      throw WaymarkError(
        exitCode: ExitCode.badKey, code: .passphraseNeeded,
        message:
          "The key of this device is sealed with a passphrase, and a service has nobody to ask for it.",
        next: "WAYMARK_PASSPHRASE_FILE=FILE \(waymark: "service install")")
    }
    let isOurs = manager.state.active == "active"
    guard isOurs || !ControlClient.isRunning(home) else {
      throw WaymarkError(
        exitCode: ExitCode.storeHeld, code: .alreadyRunning,
        message: "The node of \(home.path) runs already, and not as a service.",
        next: "end it with Ctrl-C where it runs, then \(waymark: "service install")")
    }
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    guard let file = answer.written else { return rendering.data.text(answer.text) }
    rendering.data.line(
      "\(printable(answer.unit)) is installed and runs, now and after every login.", .good)
    rendering.data.pairs([("file", printable(file)), ("log", answer.log)])
    if answer.program.contains("/.build") {
      rendering.notes.paragraph(
        "The program lies in a build folder. After `make install`, install the service again from there.",
        .careful)
    }
    if answer.lingers == false {
      rendering.notes.paragraph(
        "Next: loginctl enable-linger, to have it run also while nobody is logged in")
    }
  }
}

/// `service uninstall`: ends the service.
struct UninstallService: TerminalCommand {
  struct Answer: Codable {
    let manager: String
    let unit: String
    let home: String
    let program: String
    /// The command that shows what the node has said.
    let log: String
    /// The file that was there; nil if there was none.
    let removed: String?
  }

  static let syntax = CommandSpec(
    words: ["service", "uninstall"], summary: "end the service, and have it start no more",
    details: "The store and the keys stay as they are.", exampleArguments: "")

  func run(_ run: CommandRun) async throws -> Answer {
    let service = Service(run)
    let file = service.file(environment: run.environment)
    let isThere = FileManager.default.fileExists(atPath: file)
    if isThere { try ServiceManager(service).remove(file) }
    return Answer(
      manager: service.manager.rawValue, unit: service.unit, home: service.home, program: service.program,
      log: service.logCommand, removed: isThere ? file : nil)
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    rendering.notes.paragraph(
      answer.removed.map { "Removed \(printable($0)). The store and the keys are as they were." }
        ?? "There is no service of this home.")
  }
}

/// `service status`: whether the system runs the node.
struct ShowService: TerminalCommand {
  var isReadOnly: Bool { true }

  struct Answer: Codable {
    let manager: String
    let unit: String
    let home: String
    let program: String
    /// The command that shows what the node has said.
    let log: String
    /// What the manager reads; nil if nothing is installed.
    let file: String?
    let active: String?
    let enabled: String?
    /// What the node says of itself.
    let text: String?
    let running: Bool
    let next: Step
  }

  static let syntax = CommandSpec(
    words: ["service", "status"], summary: "say whether the system runs this node", impliesLastWord: true,
    exampleArguments: "")

  func run(_ run: CommandRun) async throws -> Answer {
    let service = Service(run)
    let file = service.file(environment: run.environment)
    let isInstalled = FileManager.default.fileExists(atPath: file)
    let state = ServiceManager(service).state
    return Answer(
      manager: service.manager.rawValue, unit: service.unit, home: service.home, program: service.program,
      log: service.logCommand, file: isInstalled ? file : nil, active: isInstalled ? state.active : nil,
      enabled: isInstalled ? state.enabled : nil, text: state.text,
      running: ControlClient.isRunning(run.home), next: next(service, isInstalled, state.active))
  }

  private func next(_ service: Service, _ isInstalled: Bool, _ active: String?) -> Step {
    guard isInstalled else { return .waymark("service install") }
    return active == "active" || active == nil ? Step(service.logCommand) : Step(service.startCommand)
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    guard let file = answer.file else {
      rendering.data.line("no service · the node \(answer.running ? "runs all the same" : "does not run")")
      return rendering.notes.paragraph("Next: \(waymark: "service install")")
    }
    let active = answer.active ?? "unknown"
    let enabled = answer.enabled == "enabled" ? " · starts at every login" : ""
    rendering.data.line(
      "\(printable(answer.unit))  \(printable(active))\(enabled)", active == "active" ? .good : .careful)
    var pairs = [("file", printable(file)), ("home", printable(answer.home)), ("log", answer.log)]
    if let text = answer.text, !text.isEmpty { pairs.insert(("says", printable(text)), at: 0) }
    rendering.data.pairs(pairs)
    if active != "active" { rendering.notes.paragraph("Next: \(answer.next)") }
  }
}

extension Service {
  /// The service of the home that is meant.
  init(_ run: CommandRun, manager: Manager = .here) {
    let usual = try? Home.resolve(
      flag: nil, environment: run.environment.filter { $0.key != "WAYMARK_HOME" })
    self.init(
      manager: manager, program: Bundle.main.executablePath ?? CommandLine.arguments[0],
      home: run.home.path, isUsualHome: run.home == usual)
    passphraseFile = run.environment["WAYMARK_PASSPHRASE_FILE"].flatMap {
      $0.isEmpty ? nil : $0.hasPrefix("/") ? $0 : FileManager.default.currentDirectoryPath + "/" + $0
    }
  }

  /// A unit's line ends where a line does, whatever is quoted in it.
  fileprivate func checkPaths() throws {
    for path in [program, home, passphraseFile ?? ""]
    where path.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
      throw WaymarkError.usage(
        "A service can't have “\(printable(path))” in it: a path of one line.", next: .waymark("help service")
      )
    }
  }
}

extension Service {
  /// What shows what the node has said.
  var logCommand: String {
    switch manager {
    case .systemd: "journalctl --user -u \(shellWord(name))"
    case .launchd: "tail \(shellWord(home + "/node.log"))"
    }
  }

  var startCommand: String {
    switch manager {
    case .systemd: "systemctl --user restart \(shellWord(name))"
    case .launchd: "launchctl kickstart -k gui/$(id -u)/\(shellWord(unit))"
    }
  }
}

/// Hands a service to systemd or launchd.
struct ServiceManager {
  let service: Service

  init(_ service: Service) { self.service = service }

  /// As far as the manager says.
  struct State {
    var active: String?
    var enabled: String?
    var text: String?
  }

  static func write(_ text: String, to file: String) throws {
    let folder = file.split(separator: "/").dropLast().joined(separator: "/")
    do {
      try FileManager.default.createDirectory(atPath: "/" + folder, withIntermediateDirectories: true)
    } catch {
      throw WaymarkError(
        exitCode: ExitCode.failed, code: .file, message: "The folder /\(folder) can't be made.",
        next: "ls -ld /\(folder)")
    }
    try TextFile.replace(file, text)
  }

  /// Has the manager read the file, start the service now, and at every login.
  func start(_ file: String) throws {
    switch service.manager {
    case .systemd:
      try demand(["systemctl", "--user", "daemon-reload"], file)
      try demand(["systemctl", "--user", "enable", service.unit], file)
      // One that runs already gets the new file.
      try demand(["systemctl", "--user", "restart", service.unit], file)
    case .launchd:
      _ = Helper.run(["launchctl", "bootout", domain + "/" + service.unit])
      try demand(["launchctl", "bootstrap", domain, file], file)
    }
  }

  func remove(_ file: String) throws {
    switch service.manager {
    case .systemd: _ = Helper.run(["systemctl", "--user", "disable", "--now", service.unit])
    case .launchd: _ = Helper.run(["launchctl", "bootout", domain + "/" + service.unit])
    }
    guard unlink(file) == 0 else {
      throw WaymarkError(
        exitCode: ExitCode.failed, code: .file, message: "\(file) can't be removed.", next: "ls -l \(file)")
    }
    guard service.manager == .systemd else { return }
    // One that had failed would be listed for ever.
    _ = Helper.run(["systemctl", "--user", "reset-failed", service.unit])
    _ = Helper.run(["systemctl", "--user", "daemon-reload"])
  }

  var state: State {
    guard service.manager == .systemd else {
      let isThere = Helper.run(["launchctl", "print", domain + "/" + service.unit]).code == 0
      return State(active: isThere ? "active" : "inactive")
    }
    let properties = "ActiveState,UnitFileState,StatusText"
    let outcome = Helper.run(["systemctl", "--user", "show", "-p", properties, service.unit])
    guard outcome.code == 0 else { return State() }
    var values: [String: String] = [:]
    for line in outcome.said.split(separator: "\n") {
      let parts = line.split(separator: "=", maxSplits: 1)
      if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
    }
    return State(
      active: values["ActiveState"], enabled: values["UnitFileState"], text: values["StatusText"])
  }

  /// Whether services of this user run when they are not logged in; nil where nobody says.
  static func lingers() -> Bool? {
    let outcome = Helper.run(["loginctl", "show-user", "-p", "Linger", "\(geteuid())"])
    guard outcome.code == 0 else { return nil }
    return outcome.said.contains("Linger=yes")
  }

  private var domain: String { "gui/\(geteuid())" }

  private func demand(_ words: [String], _ file: String) throws {
    let outcome = Helper.run(words)
    guard outcome.code != 0 else { return }
    let typed = words.joined(separator: " ")
    let said = outcome.said.split(separator: "\n").first.map { ": \(printable(String($0)))" } ?? ""
    guard outcome.code == nil else {
      throw WaymarkError(
        exitCode: ExitCode.failed, code: .serviceManager,
        message: "\(file) is written, but `\(typed)` failed\(said).",
        next: words.contains("restart")
          ? Step(service.logCommand) : "log in as yourself, then \(waymark: "service install")")
    }
    throw WaymarkError(
      exitCode: ExitCode.failed, code: .serviceManager,
      message:
        "\(file) is written, but there is no \(words[0]) to read it: this system starts services otherwise.",
      next: "have it run \(service.program) --home \(shellWord(service.home)) run")
  }
}
