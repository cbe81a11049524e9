package import JSONDocument
import Records
import Replication
import Storage
import Wire

extension Node {
  /// Carries out one command and gives its document.
  ///
  /// - Parameter events: what a long command says meanwhile, as JSON lines with a `type`.
  /// - Throws: `WaymarkError`, with the exit code and the next step.
  package func perform(
    _ request: CommandRequest, events: @escaping @Sendable (JSON) -> Void = { _ in }
  ) async throws -> JSON {
    if let done = try performNow(request) { return done }
    switch request.command {
    case "import": return try await importFiles(request, events)
    case "export": return try await exportFile(request)
    case "sync.on": return try await syncOn(request)
    case "verify" where request.flag("deep") || request.flag("repair"):
      return try await verifyDeep(request, events)
    case "verify": return try await verify(request)
    case "cleanup": return try await cleanUp(request)
    case "restamp": return try await restamp(request)
    case "mirror": return try await mirror(request, events)
    case "assert": return try await assertState(request, events)
    default: break
    }
    if let done = try await performWithNetwork(request, events) { return done }
    throw WaymarkError.usage(
      "There is no command `\(shortened(request.words.joined(separator: " ")))`.", next: "waymark help")
  }

  /// Carries out a command that waits for nothing; nil for others.
  func performNow(_ request: CommandRequest) throws -> JSON? {
    try checkOpen()
    try foldDue()
    return try performHere(request)
  }

  /// The commands that need nothing but the store and the circle; nil for others.
  private func performHere(_ request: CommandRequest) throws -> JSON? {
    let words = request.words
    if words.count == 2, let kind = commandKind(words[0]), KindCommand.actions.contains(words[1]) {
      return try performKind(kind, words[1], request)
    }
    return try performFeature(request)
  }

  private func commandKind(_ name: String) -> Kind? {
    KindCommand.kinds.contains(name) ? Registry.kind(named: name) : nil
  }

  private func performFeature(_ request: CommandRequest) throws -> JSON? {
    switch request.command {
    case "status": try showStatus(request)
    case "peers.list": try snapshot().peersDocument
    case "metrics": try showMetrics(request)
    case "log.level": try logLevel(request)
    case "trip.timeline": try tripTimeline(request)
    case "habit.tick": try tickHabit(request)
    case "habit.untick": try untickHabit(request)
    case "habit.set": try setHabit(request)
    case "profile.show": try showProfile(request)
    case "profile.set": try setProfile(request)
    case "settings.list": try listSettings(request)
    case "settings.get": try getSetting(request)
    case "settings.set": try setSetting(request)
    case "settings.unset": try unsetSetting(request)
    case "onboarding.show": try showOnboarding(request)
    case "onboarding.complete": try completeOnboarding(request)
    case "onboarding.reset": try resetOnboarding(request)
    case "sync.status": syncStatus(request)
    case "sync.off": try syncOff(request)
    case "entitlement.show": showEntitlement(request)
    case "entitlement.install": try installEntitlement(request)
    case "entitlement.buy": try buyMock(request)
    case "entitlement.cancel": try cancelMock(request)
    case "issuer.trust": try trustIssuer(request)
    default: nil
    }
  }

  private func showStatus(_ request: CommandRequest) throws -> JSON {
    if request.flag("acknowledge") { try acknowledgeDeletions() }
    var document = try snapshot().statusDocument(version: WaymarkVersion.text, counts: try counts())
    document["storeCheck"] = storeCheckJSON
    document["keys"] = home.keyStates
    return document
  }

  /// How many records of each kind are visible; seeds that nobody has touched are left out.
  func counts() throws -> JSON {
    let counts = try store.visibleCounts()
    func count(_ kind: Kind) -> JSON { .integer(counts[kind.number] ?? 0) }
    return [
      "trips": count(Registry.trip), "lodging": count(Registry.lodging),
      "transportation": count(Registry.transportation), "activities": count(Registry.activity),
      "organizations": count(Registry.organization), "habits": count(Registry.habit),
      "categories": count(Registry.category), "habitLogs": count(Registry.log),
      "settings": count(Registry.setting),
    ]
  }
}
