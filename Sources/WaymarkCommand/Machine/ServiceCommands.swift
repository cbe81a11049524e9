import Control
import Foundation
import JSONDocument
import Waymark

/// `service`: has the system start the node of a home, and start it again.
struct ServiceCommands {
  let home: Home
  let environment: [String: String]

  private var service: Service {
    var service = Service(
      manager: .here, program: Self.program, home: home.path,
      isUsualHome: home
        == (try? Home.resolve(flag: nil, environment: environment.filter { $0.key != "WAYMARK_HOME" })))
    service.passphraseFile = environment["WAYMARK_PASSPHRASE_FILE"].flatMap {
      $0.isEmpty ? nil : $0.hasPrefix("/") ? $0 : FileManager.default.currentDirectoryPath + "/" + $0
    }
    return service
  }

  private static var program: String { Bundle.main.executablePath ?? CommandLine.arguments[0] }

  func perform(_ invocation: Invocation) throws -> JSON {
    switch invocation.words.last {
    case "install": try install(invocation["print"].flatMap(Service.Manager.init(rawValue:)))
    case "uninstall": try uninstall()
    default: status()
    }
  }

  // MARK: Install

  private func install(_ printed: Service.Manager?) throws -> JSON {
    try checkPath()
    if let printed {
      var shown = Service(
        manager: printed, program: service.program, home: service.home, isUsualHome: service.isUsualHome)
      shown.passphraseFile = service.passphraseFile
      return document("install", shown, [.init("text", .string(shown.text)), .init("written", .null)])
    }
    try check()
    let (service, manager) = (service, ServiceManager(service))
    let file = service.file(environment: environment)
    try ServiceManager.write(service.text, to: file)
    try manager.start(file)
    return document(
      "install", service,
      [
        .init("text", .string(service.text)), .init("written", .string(file)),
        .init("lingers", ServiceManager.lingers(environment).map(JSON.bool) ?? .null),
      ])
  }

  /// A unit's line ends where a line does, whatever is quoted in it.
  private func checkPath() throws {
    for path in [Self.program, home.path, service.passphraseFile ?? ""]
    where path.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
      throw WaymarkError.usage(
        "A service can't have “\(printable(path))” in it: a path of one line.", next: .waymark("help service")
      )
    }
  }

  /// What would make the service fail at once.
  private func check() throws {
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
    let isOurs = ServiceManager(service).state.active == "active"
    guard isOurs || !ControlClient.isRunning(home) else {
      throw WaymarkError(
        exitCode: ExitCode.storeHeld, code: .alreadyRunning,
        message: "The node of \(home.path) runs already, and not as a service.",
        next: "end it with Ctrl-C where it runs, then \(waymark: "service install")")
    }
  }

  // MARK: Uninstall, status

  private func uninstall() throws -> JSON {
    let (service, manager) = (service, ServiceManager(service))
    let file = service.file(environment: environment)
    let isThere = FileManager.default.fileExists(atPath: file)
    if isThere { try manager.remove(file) }
    return document("uninstall", service, [.init("removed", isThere ? .string(file) : .null)])
  }

  private func status() -> JSON {
    let service = service
    let file = service.file(environment: environment)
    let isInstalled = FileManager.default.fileExists(atPath: file)
    let state = ServiceManager(service).state
    let running = ControlClient.isRunning(home)
    return document(
      "status", service,
      [
        .init("file", isInstalled ? .string(file) : .null),
        .init("active", isInstalled ? state.active.map(JSON.string) ?? .null : .null),
        .init("enabled", isInstalled ? state.enabled.map(JSON.string) ?? .null : .null),
        .init("text", state.text.map(JSON.string) ?? .null), .init("running", .bool(running)),
        .init("next", .string(next(isInstalled, state.active).description)),
      ])
  }

  private func next(_ isInstalled: Bool, _ active: String?) -> Step {
    guard isInstalled else { return "waymark service install" }
    return active == "active" || active == nil ? Step(service.logCommand) : Step(service.startCommand)
  }

  private func document(_ command: String, _ service: Service, _ members: [JSON.Member]) -> JSON {
    .object(
      [
        .init("schema", .string("waymark.service.\(command)/1")),
        .init("manager", .string(service.manager.rawValue)), .init("unit", .string(service.unit)),
        .init("home", .string(service.home)), .init("program", .string(service.program)),
        .init("log", .string(service.logCommand)),
      ] + members)
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
  static func lingers(_ environment: [String: String]) -> Bool? {
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
