import Transport
package import Wire

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// One thing that `doctor` looked at.
struct Finding: Sendable {
  enum Check: String {
    case node, configuration, permissions, keys, store, disk, clock, port, peers, sync, safety
  }
  /// `ok`, or as bad as a reason.
  enum Grade: String { case ok, info, warning, error }

  var check: Check
  var grade: Grade
  /// A word for programs: the code of a reason, or of what was found.
  var code: String
  var text: String
  var next: String?

  init(_ check: Check, _ grade: Grade, _ code: String, _ text: String, next: String? = nil) {
    (self.check, self.grade, self.code, self.text, self.next) = (check, grade, code, text, next)
  }

  init(_ check: Check, _ error: any Error) {
    let failure = (error as? WaymarkError) ?? (error as? HomeError).map(WaymarkError.init)
    self.init(
      check, .error, failure?.code ?? "unexpected", failure?.message ?? "It failed: \(error)",
      next: failure?.next)
  }

  var json: JSON {
    [
      "check": .string(check.rawValue), "severity": .string(grade.rawValue), "code": .string(code),
      "text": .string(text), "next": .text(next),
    ]
  }
}

/// `doctor`: looks at everything that a node needs, and goes on where something is wrong. It changes nothing.
package struct Doctor {
  private let home: Home
  private var findings: [Finding] = []
  /// What the node itself says; null if it can't be asked.
  private var status: JSON = .null
  private var metrics: JSON = .null

  private init(_ home: Home) { self.home = home }

  /// Examines a home and writes the report, if one is wanted.
  ///
  /// - Parameters:
  ///   - overwrites: whether a report that is there already may be replaced.
  ///   - ask: asks the node of the home; as the command line does without it.
  /// - Throws: `WaymarkError` if the report can't be written, or there is no store at all.
  package static func examine(
    _ home: Home, report: String?, overwrites: Bool,
    asking ask: (@Sendable (CommandRequest) async throws -> JSON)? = nil
  ) async throws -> JSON {
    guard home.hasStore || Files.exists(home.path) else { throw WaymarkError.noStore(home) }
    let file = try report.map { try OutputFile($0, in: home, overwrites: overwrites) }
    var doctor = Doctor(home)
    doctor.checkConfiguration()
    doctor.checkPermissions()
    doctor.checkKeys()
    await doctor.askNode(ask ?? { try await WaymarkClient.perform($0, home: home) })
    doctor.checkStore()
    doctor.checkDisk()
    doctor.checkClock()
    doctor.checkPort()
    doctor.checkReasons()
    doctor.checkSafety()
    try file?.write(doctor.reportBytes)
    return doctor.document(report)
  }

  private func document(_ report: String?) -> JSON {
    Waymark.document(
      "doctor",
      [
        .init("ok", .bool(!findings.contains { $0.grade == .error })),
        .init("findings", .array(findings.map(\.json))), .init("report", .text(report)),
      ])
  }

  // MARK: Files

  private mutating func checkConfiguration() {
    do {
      let configuration = try Configuration(home: home)
      let addresses = configuration.peers + [configuration.listen].compactMap(\.self)
      if let bad = addresses.first(where: { Endpoint($0) == nil }) {
        findings.append(
          Finding(
            .configuration, .error, "bad_address",
            "“\(shortened(bad))” is no address and port, as 192.168.1.20:7433.",
            next: "mend \(home.configuration), or WAYMARK_LISTEN and WAYMARK_PEERS"))
      } else {
        let isThere = Files.exists(home.configuration)
        findings.append(
          Finding(
            .configuration, .ok, "ok",
            isThere ? "\(home.configuration) is in order." : "No config.json: all as by default."))
      }
    } catch {
      findings.append(Finding(.configuration, error))
    }
  }

  private mutating func checkPermissions() {
    var found: [Finding] = []
    for path in [home.path, home.keys, home.deviceKey, home.rootKey, home.store] {
      var status = stat()
      guard lstat(path, &status) == 0 else { continue }
      if status.st_uid != geteuid() {
        found.append(
          Finding(
            .permissions, .error, "wrong_owner", "\(path) belongs to another user.",
            next: "chown -R $USER \(shellWord(home.path))"))
      } else if status.st_mode & 0o077 != 0 {
        let mode = status.st_mode & S_IFMT == S_IFDIR ? "700" : "600"
        found.append(
          Finding(
            .permissions, .error, "wrong_mode", "\(path) is open to other users.",
            next: "chmod \(mode) \(shellWord(path))"))
      }
    }
    findings +=
      found.isEmpty
      ? [Finding(.permissions, .ok, "ok", "\(home.path) and the keys are this user's alone.")] : found
  }

  private mutating func checkKeys() {
    let states = home.keyStates
    switch states["device"]?.string {
    case "plain", "sealed":
      let isSealed = states["device"]?.string == "sealed"
      findings.append(
        Finding(
          .keys, .ok, "ok", "The key of this device is there\(isSealed ? ", sealed with a passphrase" : "").")
      )
    case "unreadable":
      findings.append(
        Finding(
          .keys, .error, "key_damaged", "The key of this device, \(home.deviceKey), can't be read.",
          next: "put a copy of it back, or join the circle anew: waymark help keys"))
    default:
      findings.append(
        Finding(
          .keys, .error, "key_missing", "The key of this device, \(home.deviceKey), is not there.",
          next: "put a copy of it back, or join the circle anew: waymark help keys"))
    }
    if states["root"]?.string != nil {
      findings.append(
        Finding(
          .keys, .info, "root_key_here", "The root key of the circle lies on this device.",
          next: "keep a copy elsewhere: waymark help revoking"))
    }
  }

  // MARK: The node

  private mutating func askNode(_ ask: (CommandRequest) async throws -> JSON) async {
    do {
      status = try await ask(CommandRequest("status"))
      metrics = try await ask(CommandRequest("metrics"))
    } catch {
      // Nothing else can be fixed before the node answers.
      if (error as? WaymarkError)?.code == "not_answering" {
        findings.insert(Finding(.node, error), at: 0)
        return
      }
      // A key or a mode that was found already is not said again.
      let finding = Finding(.store, error)
      let isSaid = findings.contains { $0.grade == .error && ($0.check == .keys || $0.check == .permissions) }
      if !isSaid
        || !["keyMissing", "keyDamaged", "keyExposed", "wrongMode", "wrongOwner"].contains(finding.code)
      {
        findings.append(finding)
      }
    }
  }

  private mutating func checkStore() {
    guard !status.isNull else { return }
    let sets = ["settings", "records"].reduce(0) { $0 + (status["lanes"]?[$1]?["changeSets"]?.integer ?? 0) }
    let size = (Files.size(home.store) ?? 0) / 1_024
    findings.append(
      Finding(
        .store, .ok, "ok",
        "The store opens: \(plural(Int(clamping: sets), "change set")), \(size) KiB. \(checkText)To check every signature "
          + "and row: waymark verify --deep"))
  }

  /// How far the quiet check of the running node has come.
  private var checkText: String {
    guard let check = status["storeCheck"], let total = check["total"]?.integer, total > 0 else { return "" }
    let completed = check["completed"]?.string
    let done = check["checked"]?.integer ?? 0
    guard completed != nil || done > 0 else { return "The background check has not begun. " }
    let last = completed.map { "The background check verified all of it last at \($0)" }
    let now = done > 0 ? "it is at \(done) of \(total) now" : nil
    return ([last ?? "The background check has not verified all of it yet", now].compactMap(\.self))
      .joined(separator: "; ") + ". "
  }

  private mutating func checkDisk() {
    guard let free = Disk(home.path)?.free else { return }
    let copies = home.automaticBackups.count
    let kept = "; the newest \(Home.backupFilesMax) files and \(Home.backupFoldersMax) folders are kept"
    let text =
      "\(free >> 20) MiB are free on the disk of \(home.path)."
      + (copies == 0 ? "" : " \(home.backups) holds \(plural(copies, "automatic backup"))\(kept).")
    if free < Self.freeBytesMin {
      findings.append(
        Finding(
          .disk, free < Self.freeBytesMin / 8 ? .error : .warning, "little_room", text,
          next: "make room on it: df -h \(shellWord(home.path))"))
    } else {
      findings.append(Finding(.disk, .ok, "ok", text))
    }
  }

  private mutating func checkClock() {
    let isSaid = reasons.contains { Self.check(of: $0) == .clock }
    guard !isSaid, !status.isNull else { return }
    let skews = (status["peers"]?.array ?? []).compactMap { $0["clockSkewMilliseconds"]?.integer }
    let most = skews.map { abs($0) }.max()
    findings.append(
      Finding(
        .clock, .ok, "ok",
        most.map { "The clocks of this machine and of connected devices differ by \($0 / 1_000) s at most." }
          ?? "No device is connected to compare clocks with."))
  }

  private mutating func checkPort() {
    if let listen = status["listen"]?.string {
      let isLocal = listen.hasPrefix("127.") || listen.hasPrefix("[::1]")
      findings.append(
        Finding(
          .port, isLocal ? .info : .ok, isLocal ? "loopback_only" : "ok",
          isLocal
            ? "The node listens at \(listen): only this machine can reach it."
            : "The node listens at \(listen).",
          next: isLocal ? "waymark run --listen [::]:7433, if other machines should" : nil))
      return
    }
    guard let listen = try? Configuration(home: home).listen ?? "[::]:7433", let endpoint = Endpoint(listen),
      endpoint.port > 0
    else { return }
    if portIsTaken(endpoint.port) {
      findings.append(
        Finding(
          .port, .warning, "port_taken",
          "Port \(endpoint.port), at which the node would listen, is in use by another program.",
          next: "waymark run --listen [::]:0"))
    } else {
      findings.append(Finding(.port, .ok, "ok", "Port \(endpoint.port) is free."))
    }
  }

  private func portIsTaken(_ port: UInt16) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | LineSocket.closeOnExec, 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    return code != 0 && errno == EADDRINUSE
  }

  // MARK: Reasons

  private var reasons: [JSON] { status["reasons"]?.array ?? [] }

  /// The same that `status` says, each root once.
  private mutating func checkReasons() {
    for reason in reasons {
      findings.append(
        Finding(
          Self.check(of: reason), Finding.Grade(rawValue: reason["severity"]?.string ?? "") ?? .info,
          reason["reason"]?.string ?? "", Self.sentence(reason),
          next: reason["next"]?.string))
    }
    let peers = status["peers"]?.array ?? []
    let inSync = peers.count { $0["state"]?.string == "in_sync" }
    if !peers.isEmpty, inSync == peers.count {
      findings.append(
        Finding(
          .peers, .ok, "ok",
          "In sync with \(inSync == 1 ? "the other device" : "all \(inSync) other devices")."))
    }
  }

  /// Names keep their letters.
  private static func sentence(_ reason: JSON) -> String {
    let text = (reason["text"]?.string ?? "") + "."
    return reason["name"]?.string.map(text.hasPrefix) == true ? text : text.capitalizedFirst
  }

  private static func check(of reason: JSON) -> Finding.Check {
    switch reason["reason"]?.string.flatMap(Reason.init(rawValue:)) {
    case .clockAhead, .clockSkew, .peerClockAhead, .parked: .clock
    case .diskFull: .disk
    case .storeFailed, .damagedSet, .digestMismatch, .fork, .incarnationsSpent: .store
    case .syncOff, .freeTier, .entitlementExpired, .entitlementNotYetValid, .conflicts, .massDelete,
      .directionWaiting, .directionOvertaken, .settingsBeyondLimits:
      .sync
    default: .peers
    }
  }

  private mutating func checkSafety() {
    guard let loss = status["loss"] else { return }
    let devices = loss["devices"]?.array ?? []
    let count = loss["changeSets"]?.integer ?? 0
    if devices.isEmpty {
      findings.append(
        Finding(
          .safety, .info, "only_device", "No other device holds a copy of what is here.",
          next: "waymark invite, or waymark backup FILE"))
    } else if count > 0 {
      findings.append(
        Finding(
          .safety, .warning, "unreplicated",
          "\(plural(Int(clamping: count), "change set")) would be lost if this disk died now.",
          next: "waymark status"))
    } else if !devices.contains(where: { $0["lacking"]?.integer != nil }) {
      findings.append(Finding(.safety, .ok, "ok", "There is nothing here that could be lost."))
    } else {
      findings.append(Finding(.safety, .ok, "ok", "Other devices hold everything that is here."))
    }
  }

  // MARK: Report

  /// Only what is named here goes in: nothing that people wrote into trips, habits, settings or the profile.
  private var reportBytes: [UInt8] {
    var said: JSON = [:]
    for key in Self.reported { said[key] = status[key] ?? .null }
    if let loss = status["loss"] { said["unreplicatedChangeSets"] = loss["changeSets"] ?? .null }
    let report = Waymark.document(
      "doctor.report",
      [
        .init("made", timeJSON(systemWall())), .init("version", .string(WaymarkVersion.text)),
        .init("traits", .array(WaymarkVersion.traits.map(JSON.string))),
        .init("system", .string(Self.system)),
        .init("home", .string(home.path)), .init("findings", .array(findings.map(\.json))),
        .init("status", said),
        .init("metrics", metrics["metrics"] ?? .null),
      ])
    return report.bytes(.pretty)
  }

  private static let reported = [
    "device", "name", "circle", "incarnation", "version", "running", "runningSince", "listen", "premium",
    "sync",
    "lanes", "counts", "conflicts", "reasons", "peers", "keys",
  ]

  private static let freeBytesMin: UInt64 = 256 << 20

  private static var system: String {
    var name = utsname()
    guard uname(&name) == 0 else { return "unknown" }
    func text<Field>(_ field: Field) -> String {
      withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
    return "\(text(name.sysname)) \(text(name.release)) \(text(name.machine))"
  }
}
