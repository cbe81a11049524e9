import Console
import Control
import Platform
import Waymark
import WaymarkCare

/// `service install`: makes the system start the node of a home at every login, and restart it if it fails.
struct InstallService: TerminalCommand {
  /// The manager whose service file is only printed, not installed; nil to install the service.
  var print: String?

  struct Answer: Codable {
    let manager: String
    let unit: String
    let home: String
    let program: String
    /// The command that shows the node's log.
    let log: String
    let text: String
    /// The service file that was written; nil if it was only printed, or if a package has installed it.
    let written: String?
    /// The service file of a package, if that is used.
    let packaged: String?
    /// Whether the service keeps running while the user is logged out; nil if unknown.
    let lingers: Bool?

    var file: String? { written ?? packaged }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(manager, forKey: .manager)
      try container.encode(unit, forKey: .unit)
      try container.encode(home, forKey: .home)
      try container.encode(program, forKey: .program)
      try container.encode(log, forKey: .log)
      try container.encode(text, forKey: .text)
      try container.encodeIfPresent(written, forKey: .written)
      try container.encodeIfPresent(packaged, forKey: .packaged)
      if file != nil { try container.encodeIfPresent(lingers, forKey: .lingers) }
    }
  }

  static let syntax = CommandSpec(
    words: ["service", "install"], summary: "run this node as a service, now and at every login",
    options: [
      .init(
        flag: "--print", placeholder: "systemd|launchd|package",
        summary: "print the service file; install nothing",
        type: .words(Service.Manager.allCases.map(\.rawValue) + [Self.package]))
    ],
    details: """
      Writes a systemd unit, or a launchd property list on a Mac, for this user and this home, and starts it.
      If a package has installed a unit that does the same, that unit is started, and none is written.
      --print package prints the unit for such a package. It runs the program in /usr/bin, with the default
      home of each user.
      Run service install again after you update or move the program. See waymark help service.
      """, exampleArguments: "")

  /// The value of `--print` for the unit of a package.
  private static let package = "package"

  func run(_ run: CommandContext) async throws -> Answer {
    if print == Self.package { return answer(.packaged) }
    let printed = print.flatMap(Service.Manager.init(rawValue:))
    let service = Service(run, manager: printed ?? .here)
    try service.checkPaths()
    guard printed == nil else { return answer(service) }
    let manager = ServiceManager(service)
    try check(service, manager, run.home)
    let file = service.file(environment: run.environment)
    if service.isCoveredByPackage(environment: run.environment) {
      // A file of the user takes precedence over that of the package.
      if FileManager.default.fileExists(atPath: file) { try manager.remove(file, stops: false) }
      try manager.start(Service.packagedFile)
      return answer(.packaged, home: service.home, packaged: Service.packagedFile)
    }
    try ServiceManager.write(service.text, to: file)
    try manager.start(file)
    return answer(service, written: file)
  }

  private func answer(
    _ service: Service, home: String? = nil, written: String? = nil, packaged: String? = nil
  ) -> Answer {
    Answer(
      manager: service.manager.rawValue, unit: service.unit, home: home ?? service.home,
      program: service.program, log: service.logCommand, text: service.text, written: written,
      packaged: packaged,
      lingers: (written ?? packaged).flatMap { _ in ServiceManager.lingers() })
  }

  /// Throws if the service would fail as soon as it starts.
  private func check(_ service: Service, _ manager: ServiceManager, _ home: Home) throws {
    guard home.hasStore else {
      throw WaymarkError(
        exitCode: ExitCode.noStore, code: .noStore,
        message: "There is no Waymark store in \(home.path), so a service would have nothing to run.",
        next: "\(waymark: "init"), or \(waymark: "join TICKET")")
    }
    if home.keyStates.device == .sealed, service.passphraseFile == nil {
      throw WaymarkError(
        exitCode: ExitCode.badKey, code: .passphraseNeeded,
        message:
          "The key of this device is sealed with a passphrase, and a service can't ask for it.",
        next: "WAYMARK_PASSPHRASE_FILE=FILE \(waymark: "service install")")
    }
    let isOurs = manager.state.active == "active"
    guard isOurs || !ControlClient.isRunning(home) else {
      throw WaymarkError(
        exitCode: ExitCode.storeHeld, code: .alreadyRunning,
        message: "The node of \(home.path) is already running, but not as a service.",
        next: "stop it with Ctrl-C in its terminal, then \(waymark: "service install")")
    }
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    guard let file = answer.file else { return rendering.data.text(answer.text) }
    rendering.data.line(
      "\(printable(answer.unit)) is installed and running, and starts at every login.", .good)
    rendering.data.pairs([("file", printable(file)), ("log", answer.log)])
    if answer.program.contains("/.build") {
      rendering.notes.paragraph(
        "The program is in a build folder. After `make install`, install the service again with the installed program.",
        .careful)
    }
    if answer.lingers == false {
      rendering.notes.paragraph(
        "Next: loginctl enable-linger, to keep it running while you are logged out")
    }
  }
}

/// `service uninstall`: stops and removes the service.
struct UninstallService: TerminalCommand {
  struct Answer: Codable {
    let manager: String
    let unit: String
    let home: String
    let program: String
    /// The command that shows the node's log.
    let log: String
    /// The service file that was removed; nil if there was none.
    let removed: String?
    /// The service file of a package, which was disabled for this user and stays; nil if it was not in use.
    let disabled: String?
  }

  static let syntax = CommandSpec(
    words: ["service", "uninstall"], summary: "stop the service and remove it",
    details: "The store and the keys are not changed.", exampleArguments: "")

  func run(_ run: CommandContext) async throws -> Answer {
    let service = Service(run)
    let file = service.file(environment: run.environment)
    let manager = ServiceManager(service)
    let isThere = FileManager.default.fileExists(atPath: file)
    let isPackaged = !isThere && service.usesPackage(manager.state, environment: run.environment)
    if isThere { try manager.remove(file) } else if isPackaged { try manager.disable() }
    return Answer(
      manager: service.manager.rawValue, unit: service.unit, home: service.home, program: service.program,
      log: service.logCommand, removed: isThere ? file : nil,
      disabled: isPackaged ? Service.packagedFile : nil)
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    let done =
      answer.removed.map { "Removed \(printable($0))." }
      ?? answer.disabled.map {
        "Stopped and disabled \(printable(answer.unit)); \($0) belongs to a package and stays."
      }
    rendering.notes.paragraph(
      done.map { $0 + " The store and the keys were not changed." }
        ?? "No service is installed for this home.")
  }
}

/// `service status`: whether the node runs as a service.
struct ShowService: TerminalCommand {
  var isReadOnly: Bool { true }

  struct Answer: Codable {
    let manager: String
    let unit: String
    let home: String
    let program: String
    /// The command that shows the node's log.
    let log: String
    /// The service file; nil if none is installed.
    let file: String?
    let active: String?
    let enabled: String?
    /// The status that the node last reported to the manager.
    let text: String?
    let running: Bool
    let next: Step
  }

  static let syntax = CommandSpec(
    words: ["service", "status"], summary: "show whether this node runs as a service", impliesLastWord: true,
    exampleArguments: "")

  func run(_ run: CommandContext) async throws -> Answer {
    let service = Service(run)
    let state = ServiceManager(service).state
    let own = service.file(environment: run.environment)
    let file =
      FileManager.default.fileExists(atPath: own)
      ? own : service.usesPackage(state, environment: run.environment) ? Service.packagedFile : nil
    let isInstalled = file != nil
    return Answer(
      manager: service.manager.rawValue, unit: service.unit, home: service.home, program: service.program,
      log: service.logCommand, file: file, active: isInstalled ? state.active : nil,
      enabled: isInstalled ? state.enabled : nil, text: state.text,
      running: ControlClient.isRunning(run.home), next: next(service, isInstalled, state.active))
  }

  private func next(_ service: Service, _ isInstalled: Bool, _ active: String?) -> Step {
    guard isInstalled else { return .waymark("service install") }
    return active == "active" || active == nil
      ? Step(.init(word: service.logCommand)) : Step(.init(word: service.startCommand))
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    guard let file = answer.file else {
      let state = answer.running ? "running without one" : "not running"
      rendering.data.line("no service · the node is \(state)")
      return rendering.notes.paragraph("Next: \(waymark: "service install")")
    }
    let active = answer.active ?? "unknown"
    let enabled = answer.enabled == "enabled" ? " · starts at every login" : ""
    rendering.data.line(
      "\(printable(answer.unit))  \(printable(active))\(enabled)", active == "active" ? .good : .careful)
    var pairs = [("file", printable(file)), ("home", printable(answer.home)), ("log", answer.log)]
    if let text = answer.text, !text.isEmpty { pairs.insert(("status", printable(text)), at: 0) }
    rendering.data.pairs(pairs)
    if active != "active" { rendering.notes.next(answer.next) }
  }
}

extension Service {
  /// Creates the service for the home that this command uses.
  init(_ run: CommandContext, manager: Manager = .here) {
    let usual = try? Home.resolve(
      flag: nil, environment: run.environment.filter { $0.key != "WAYMARK_HOME" })
    self.init(
      manager: manager, program: Self.program(environment: run.environment),
      home: run.home.path, isUsualHome: run.home == usual)
    passphraseFile = run.environment["WAYMARK_PASSPHRASE_FILE"].flatMap {
      $0.isEmpty ? nil : $0.hasPrefix("/") ? $0 : FileManager.default.currentDirectoryPath + "/" + $0
    }
  }

  /// Returns the path under which the program was called. Links in it are not resolved: a link such as /usr/local/bin/waymark
  /// keeps its name when the next version replaces the file behind it.
  private static func program(environment: [String: String]) -> String {
    let typed = CommandLine.arguments[0]
    let manager = FileManager.default
    let found =
      typed.contains("/")
      ? [typed.hasPrefix("/") ? typed : manager.currentDirectoryPath + "/" + typed]
      : (environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(typed)" }.filter {
        $0.hasPrefix("/")
      }
    let path = found.first { manager.isExecutableFile(atPath: $0) }
    return path.map { URL(filePath: $0).standardized.path(percentEncoded: false) }
      ?? programPath ?? typed
  }

  /// Whether a package has installed a unit that does what this one would do.
  fileprivate func isCoveredByPackage(environment: [String: String]) -> Bool {
    isCovered(
      byPackagedText: try? String(contentsOfFile: Self.packagedFile, encoding: .utf8),
      resolvedProgram: URL(filePath: program).resolvingSymlinksInPath().path(percentEncoded: false),
      userDirectory: environment["HOME"])
  }

  /// Whether the user has enabled or started the unit of a package for this home.
  fileprivate func usesPackage(_ state: ServiceManager.State, environment: [String: String]) -> Bool {
    isCoveredByPackage(environment: environment) && (state.enabled == "enabled" || state.active == "active")
  }

  /// Rejects paths with control characters, because a line break would end the line in a unit even if quoted.
  fileprivate func checkPaths() throws {
    for path in [program, home, passphraseFile ?? ""]
    where path.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
      throw WaymarkError.usage(
        "A service can't use “\(printable(path))”: the path has a control character.",
        next: .waymark("help service"))
    }
  }
}

extension Service {
  /// The command that shows the node's log.
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

  /// The state of the service, as far as the manager reports it.
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
        exitCode: ExitCode.failed, code: .file, message: "The folder /\(folder) can't be created.",
        next: "ls -ld /\(folder)")
    }
    try TextFile.replace(file, text)
  }

  /// Makes the manager read the file, and start the service now and at every login.
  func start(_ file: String) throws {
    switch service.manager {
    case .systemd:
      try demand(["systemctl", "--user", "daemon-reload"], file)
      // `enable` would keep a link to the file of a package, or fail because of it.
      try demand(["systemctl", "--user", "reenable", service.unit], file)
      // `restart` rather than `start`, so that a service that is already running uses the new file.
      try demand(["systemctl", "--user", "restart", service.unit], file)
    case .launchd:
      _ = Helper.run(["launchctl", "bootout", domain + "/" + service.unit])
      try demand(["launchctl", "bootstrap", domain, file], file)
    }
  }

  /// Stops a service at every login and, unless another file replaces this one, now; removes the file.
  func remove(_ file: String, stops: Bool = true) throws {
    switch service.manager {
    case .systemd:
      _ = Helper.run(["systemctl", "--user", "disable"] + (stops ? ["--now"] : []) + [service.unit])
    case .launchd: _ = Helper.run(["launchctl", "bootout", domain + "/" + service.unit])
    }
    guard unlink(file) == 0 else {
      throw WaymarkError(
        exitCode: ExitCode.failed, code: .file, message: "\(file) can't be removed.", next: "ls -l \(file)")
    }
    guard service.manager == .systemd else { return }
    // Otherwise systemd would keep listing a unit that has failed.
    _ = Helper.run(["systemctl", "--user", "reset-failed", service.unit])
    _ = Helper.run(["systemctl", "--user", "daemon-reload"])
  }

  /// Stops the service of a package, now and at every login.
  func disable() throws {
    try demand(["systemctl", "--user", "disable", "--now", service.unit], Service.packagedFile)
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
    for line in outcome.output.split(separator: "\n") {
      let parts = line.split(separator: "=", maxSplits: 1)
      if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
    }
    return State(
      active: values["ActiveState"], enabled: values["UnitFileState"], text: values["StatusText"])
  }

  /// Whether services of this user run while the user is logged out; nil if the system does not report it.
  static func lingers() -> Bool? {
    let outcome = Helper.run(["loginctl", "show-user", "-p", "Linger", "\(geteuid())"])
    guard outcome.code == 0 else { return nil }
    return outcome.output.contains("Linger=yes")
  }

  private var domain: String { "gui/\(geteuid())" }

  private func demand(_ words: [String], _ file: String) throws {
    let outcome = Helper.run(words)
    guard outcome.code != 0 else { return }
    let typed = words.joined(separator: " ")
    let detail = outcome.output.split(separator: "\n").first.map { ": \(printable(String($0)))" } ?? ""
    guard outcome.code == nil else {
      throw WaymarkError(
        exitCode: ExitCode.failed, code: .serviceManager,
        message: "\(file) is installed, but `\(typed)` failed\(detail).",
        next: words.contains("restart")
          ? Step(.init(word: service.logCommand)) : "log in as yourself, then \(waymark: "service install")")
    }
    throw WaymarkError(
      exitCode: ExitCode.failed, code: .serviceManager,
      message:
        "\(file) is installed, but there is no \(words[0]) to read it: this system starts services in another way.",
      next: "have it run \(service.program) --home \(shellWord(service.home)) run")
  }
}
