import Platform
import Home
import JSONDocument
import Model
import Transport
package import Waymark
import WaymarkCare
import Wire

extension Diagnosis.Finding {
  init(
    _ check: Diagnosis.Check, _ severity: Diagnosis.Severity, _ code: Reason, _ text: String,
    next: Step? = nil
  ) {
    self.init(check: check, severity: severity, code: code, text: text, next: next)
  }

  init(_ check: Diagnosis.Check, _ error: any Error) {
    let failure = error as? WaymarkError
    self.init(
      check, .error, failure?.reason ?? .unexpected,
      failure?.message.description ?? "Unexpected error: \(error).",
      next: failure?.next)
  }
}

/// `doctor`: checks everything that a node needs, and continues after a problem. It changes nothing.
package struct Doctor {
  private let home: Home
  private var findings: [Finding] = []
  /// The status that the node reports; nil if the node does not answer.
  private var status: NodeStatus?
  private var metrics: [Metrics.Family]?

  private typealias Finding = Diagnosis.Finding

  private init(_ home: Home) { self.home = home }

  /// Examines a home and writes the report if one is requested.
  ///
  /// - Parameters:
  ///   - overwrites: whether an existing report may be replaced.
  ///   - ask: asks the home's node for its status and metrics.
  /// - Throws: `WaymarkError` if the report can't be written, or there is no store at all.
  package static func examine(
    _ home: Home, report: String?, overwrites: Bool,
    asking ask: @Sendable () async throws -> (NodeStatus, [Metrics.Family])
  ) async throws -> Diagnosis {
    guard home.hasStore || Files.exists(home.path) else { throw WaymarkError.noStore(home) }
    let report = try report.map { try OutputFile.path($0, naturally: "waymark-report.txt") }
    let file = try report.map { try OutputFile($0, in: home, overwrites: overwrites) }
    var doctor = Doctor(home)
    doctor.checkConfiguration()
    doctor.checkPermissions()
    doctor.checkKeys()
    await doctor.askNode(ask)
    doctor.checkStore()
    doctor.checkDisk()
    doctor.checkClock()
    doctor.checkPort()
    doctor.checkReasons()
    doctor.checkSafety()
    try file?.write(doctor.reportBytes())
    return Diagnosis(
      isSound: !doctor.findings.contains { $0.severity == .error }, findings: doctor.findings, report: report)
  }

  // MARK: Files

  private mutating func checkConfiguration() {
    do {
      let configuration = try Configuration(home: home)
      let addresses = configuration.peers + [configuration.listen].compactMap(\.self)
      if let bad = addresses.first(where: { Endpoint($0) == nil }) {
        findings.append(
          Finding(
            .configuration, .error, .badAddress,
            "Invalid address “\(shortened(bad))”: expected ADDR:PORT, such as 192.168.1.20:7433.",
            next: "correct \(home.configuration), or WAYMARK_LISTEN and WAYMARK_PEERS"))
      } else {
        let isThere = Files.exists(home.configuration)
        findings.append(
          Finding(
            .configuration, .ok, .ok,
            isThere ? "\(home.configuration) is valid." : "No config.json: the defaults apply."))
      }
    } catch {
      findings.append(Finding(.configuration, error))
    }
  }

  private mutating func checkPermissions() {
    var found: [Finding] = []
    for path in [home.path, home.keys, home.deviceKey, home.rootKey, home.issuerKey, home.store] {
      var status = stat()
      guard lstat(path, &status) == 0 else { continue }
      if status.st_mode & S_IFMT == S_IFLNK {
        // The mode of a link says nothing, and `chmod` would change its target.
        found.append(
          Finding(
            .permissions, .error, .unwritable, "\(path) is a link; a home must be the directory itself.",
            next: "use the target with --home, or put it here: readlink -f \(shellWord(path))"))
        continue
      }
      if status.st_uid != geteuid() {
        found.append(
          Finding(
            .permissions, .error, .wrongOwner, "\(path) belongs to another user.",
            next: "chown -R $USER \(shellWord(home.path))"))
      } else if status.st_mode & 0o077 != 0 {
        let mode = status.st_mode & S_IFMT == S_IFDIR ? "700" : "600"
        found.append(
          Finding(
            .permissions, .error, .wrongMode, "\(path) is open to other users.",
            next: "chmod \(mode) \(shellWord(path))"))
      }
    }
    findings +=
      found.isEmpty
      ? [Finding(.permissions, .ok, .ok, "Only this user has access to \(home.path) and the keys.")] : found
  }

  private mutating func checkKeys() {
    let states = home.keyStates
    switch states.device {
    case .plain, .sealed, .kept:
      let isSealed = states.device == .sealed
      findings.append(
        Finding(
          .keys, .ok, .ok, "The key of this device is present\(isSealed ? ", sealed with a passphrase" : "")."
        )
      )
    case .unreadable:
      findings.append(
        Finding(
          .keys, .error, .keyDamaged, "The key of this device, \(home.deviceKey), can't be read.",
          next: "put a copy of it back, or join the circle again: \(waymark: "help keys")"))
    case nil:
      findings.append(
        Finding(
          .keys, .error, .keyMissing, "The key of this device, \(home.deviceKey), is missing.",
          next: "put a copy of it back, or join the circle again: \(waymark: "help keys")"))
    }
    if states.root != nil {
      findings.append(
        Finding(
          .keys, .info, .rootKeyHere, "The root key of the circle is on this device.",
          next: "keep a copy elsewhere: \(waymark: "help revoking")"))
    }
    checkIssuerKey(states)
  }

  private mutating func checkIssuerKey(_ states: KeyStates) {
    guard let state = states.issuer else { return }
    guard state == .unreadable else {
      let sealing = state == .sealed ? ", sealed with a passphrase" : ""
      findings.append(
        Finding(
          .keys, .ok, .ok, "The key with which this device issues premium to its circle is present\(sealing)."
        ))
      return
    }
    findings.append(
      Finding(
        .keys, .warning, .keyDamaged,
        "The key with which this device issues premium to its circle, \(home.issuerKey), can't be read.",
        next: "put a copy of it back, or move it away: then \(waymark: "premium self") makes a new one"))
  }

  // MARK: The node

  private mutating func askNode(_ ask: @Sendable () async throws -> (NodeStatus, [Metrics.Family])) async {
    do {
      (status, metrics) = try await ask()
    } catch {
      // Nothing else can be fixed before the node answers.
      if (error as? WaymarkError)?.reason == .notAnswering {
        findings.insert(Finding(.node, error), at: 0)
        return
      }
      // A problem with keys or permissions that was already found is not repeated.
      let finding = Finding(.store, error)
      let isReported = findings.contains {
        $0.severity == .error && ($0.check == .keys || $0.check == .permissions)
      }
      if !isReported
        || ![.keyMissing, .keyDamaged, .keyExposed, .wrongMode, .wrongOwner].contains(finding.code)
      {
        findings.append(finding)
      }
    }
  }

  private mutating func checkStore() {
    guard let status else { return }
    let sets = status.settings.changeSets + status.records.changeSets
    let size = (Files.size(home.store) ?? 0) / 1_024
    findings.append(
      Finding(
        .store, .ok, .ok,
        "The store can be opened: \(plural(sets, "change set")), \(size) KiB. \(checkText)To check every signature "
          + "and row: waymark verify --deep"))
  }

  /// The progress of the background check of the running node.
  private var checkText: String {
    guard let check = status?.storeCheck, check.total > 0 else { return "" }
    let completed = check.completed.map { CivilTime.sentenceText($0.milliseconds) }
    let (done, total) = (check.checked, check.total)
    guard completed != nil || done > 0 else { return "The background check has not started. " }
    let last = completed.map { "The background check last verified everything at \($0)" }
    let now = done > 0 ? "the current one is at \(done) of \(total)" : nil
    return ([last ?? "The background check has not verified everything yet", now].compactMap(\.self))
      .joined(separator: "; ") + ". "
  }

  private mutating func checkDisk() {
    guard let free = Disk(home.path)?.free else { return }
    let copies = home.automaticBackups.count
    let kept = "; the newest \(Home.backupFilesMax) files and \(Home.backupFoldersMax) folders are kept"
    let text =
      "\(sizeText(UInt64(free))) are free on the disk of \(home.path)."
      + (copies == 0 ? "" : " \(home.backups) holds \(plural(copies, "automatic backup"))\(kept).")
    if free < Self.freeBytesMin {
      findings.append(
        Finding(
          .disk, free < Self.freeBytesMin / 8 ? .error : .warning, .littleRoom, text,
          next: "free some space: df -h \(shellWord(home.path))"))
    } else {
      findings.append(Finding(.disk, .ok, .ok, text))
    }
  }

  private mutating func checkClock() {
    guard let status, !status.causes.contains(where: { Self.check(of: $0.reason) == .clock }) else { return }
    let most = status.peers.compactMap(\.clockSkew).map { abs($0.wholeMilliseconds) }.max()
    findings.append(
      Finding(
        .clock, .ok, .ok,
        most.map { "The clocks of this machine and of connected devices differ by at most \($0 / 1_000) s." }
          ?? "No device is connected, so clocks can't be compared."))
  }

  private mutating func checkPort() {
    if let listen = status?.address {
      let isLocal = listen.hasPrefix("127.") || listen.hasPrefix("[::1]")
      findings.append(
        Finding(
          .port, isLocal ? .info : .ok, isLocal ? .loopbackOnly : .ok,
          isLocal
            ? "The node listens on \(listen): only this machine can reach it."
            : "The node listens on \(listen).",
          next: isLocal ? "\(waymark: "run --listen [::]:7433"), so that other machines can" : nil))
      return
    }
    guard let listen = try? Configuration(home: home).listen ?? "[::]:7433", let endpoint = Endpoint(listen),
      endpoint.port > 0
    else { return }
    if portIsTaken(endpoint.port) {
      findings.append(
        Finding(
          .port, .warning, .portTaken,
          "Port \(endpoint.port), which the node would listen on, is in use by another program.",
          next: .waymark("run --listen [::]:0")))
    } else {
      findings.append(Finding(.port, .ok, .ok, "Port \(endpoint.port) is free."))
    }
  }

  private func portIsTaken(_ port: UInt16) -> Bool {
    let descriptor = openSocket(AF_INET, .stream)
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

  /// Adds a finding for each cause that `status` reports.
  private mutating func checkReasons() {
    guard let status else { return }
    checkName(status.name)
    for cause in status.causes {
      findings.append(
        Finding(
          Self.check(of: cause.reason), Diagnosis.Severity(cause.reason.severity), cause.reason,
          Self.sentence(cause), next: cause.next))
    }
    let inSync = status.peers.count { $0.state == .inSync }
    if !status.peers.isEmpty, inSync == status.peers.count {
      findings.append(
        Finding(
          .peers, .ok, .ok,
          "In sync with \(inSync == 1 ? "the other device" : "all \(inSync) other devices")."))
    }
  }

  /// Reports a configured name that differs from this device's name.
  private mutating func checkName(_ name: String) {
    guard let wanted = (try? Configuration(home: home))?.name, wanted != name else { return }
    findings.append(
      Finding(
        .configuration, .info, .configuration,
        "The configured name “\(shortened(wanted))” is used only by init and join; this device is called "
          + "“\(shortened(name))”.", next: .waymark("rename \(shellWord(wanted))")))
  }

  /// Returns a cause as a sentence. A device name at the beginning is not capitalized.
  private static func sentence(_ cause: NodeStatus.Cause) -> String {
    let text = "\(cause.text)."
    return (cause.peer?.name).map(text.hasPrefix) == true ? text : text.capitalizedFirst
  }

  private static func check(of reason: Reason) -> Diagnosis.Check {
    switch reason {
    case .clockAhead, .clockSkew, .peerClockAhead, .parked: .clock
    case .diskFull: .disk
    case .singleAdmin: .safety
    case .storeFailed, .damagedSet, .digestMismatch, .fork, .tooManyBranches, .incarnationsSpent,
      .memberIsLarge:
      .store
    case .syncOff, .freeTier, .entitlementExpired, .entitlementNotYetValid, .purchaseRefunded,
      .purchaseUnconfirmed, .purchaseUnjudged, .entitlementWithdrawn, .conflicts, .massDeletion, .massErase,
      .overrideWaiting,
      .overrideOvertaken, .settingsBeyondLimits, .valuesMissing, .syncInvited, .premiumEnds, .purchaseRefresh:
      .sync
    default: .peers
    }
  }

  private mutating func checkSafety() {
    guard let risk = status?.replicationRisk else { return }
    if risk.devices.isEmpty {
      findings.append(
        Finding(
          .safety, .info, .onlyDevice, "No other device has a copy of the data on this one.",
          next: "\(waymark: "invite"), or \(waymark: "backup FILE")"))
    } else if risk.changeSets > 0 {
      findings.append(
        Finding(
          .safety, .warning, .unreplicated,
          "\(plural(risk.changeSets, "change set")) would be lost if this disk died now.",
          next: .waymark("status")))
    } else if risk.devices.allSatisfy({ $0.lacking == nil }) {
      findings.append(Finding(.safety, .ok, .ok, "There is no data here that could be lost."))
    } else {
      findings.append(Finding(.safety, .ok, .ok, "Other devices have copies of everything here."))
    }
  }

  // MARK: Report

  /// Returns the report. It contains only what is listed here: no data from trips, habits, settings or the profile.
  private func reportBytes() throws -> [UInt8] {
    let report = Report(
      made: Date(milliseconds: systemWall()), version: WaymarkVersion.text, traits: WaymarkVersion.traits,
      system: Self.system, home: home.path, findings: findings, status: status.map(Report.SharedStatus.init),
      metrics: metrics)
    return try AnswerCoding.document(report).bytes(.pretty)
  }

  private struct Report: Encodable {
    let schema = "waymark.doctor.report/1"
    let made: Date
    let version: String
    let traits: [String]
    let system: String
    let home: String
    let findings: [Finding]
    let status: SharedStatus?
    let metrics: [Metrics.Family]?

    /// The part of a status that may be shared.
    struct SharedStatus: Encodable {
      let status: NodeStatus

      enum CodingKeys: CodingKey { case unreplicatedChangeSets }

      func encode(to encoder: any Encoder) throws {
        try status.encodeForOthers(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(status.replicationRisk.changeSets, forKey: .unreplicatedChangeSets)
      }
    }
  }

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

extension Diagnosis.Severity {
  init(_ severity: Severity) {
    switch severity {
    case .info: self = .info
    case .warning: self = .warning
    case .error: self = .error
    }
  }
}
