import Exchange
import Foundation
import JSONDocument
import Wire

/// The story of the demo. Each sentence with a tick is printed only after it has been checked.
struct Play {
  let stage: Stage
  let laptop: Device
  let phone: Device
  let tablet: Device

  var circle = ""
  /// The time at which the phone's premium ends.
  var phonePremiumEnds = Date.distantPast
  /// The phone's status before it joined the circle of laptop.
  var phoneBefore: Status?
  var habit = ""
  var trip = ""

  init(on stage: Stage) {
    self.stage = stage
    laptop = Device("laptop", on: stage)
    phone = Device("phone", on: stage)
    tablet = Device("tablet", on: stage)
  }

  mutating func perform(_ story: inout Story) throws {
    story.title(
      "Waymark: three devices of one person, no server",
      "laptop, phone and tablet are three processes on this machine, each with its own store")
    try found(&story)
    try fill(&story)
    try join(&story)
    try merge(&story)
    try keepTheTabletFree(&story)
    try drift(&story)
    try comeBack(&story)
    try expire(&story)
    for device in [laptop, phone, tablet] { try device.stop() }
  }

  // MARK: The circle

  private mutating func found(_ story: inout Story) throws {
    story.chapter("Laptop founds a circle and tablet joins it; phone founds its own circle")
    try laptop.text("issuer", "init", stage.folder.appending(path: "issuer").path)
    let made = try laptop.json(
      "init", "--name", "laptop", "--issuer", stage.folder.appending(path: "issuer.pub").path)
    circle = made["circle"]?.string ?? ""
    try laptop.start()
    story.tick("laptop", "founded circle \(short(circle))", "listens on \(laptop.address)")
    try tablet.text("join", "-", "--name", "tablet", input: laptop.text("invite"))
    try tablet.start()
    try tablet.wait("it is in sync with laptop") { $0.isInSync(with: "laptop") }
    story.tick("tablet", "joined with a one-time ticket", "listens on \(tablet.address)")
    try phone.text("init", "--name", "phone")
    let own = try phone.status()
    try expect(own.circle != circle, "phone was in the circle of laptop before it joined")
    story.tick("phone", "founded its own circle", short(own.circle))
  }

  private mutating func fill(_ story: inout Story) throws {
    story.chapter("Laptop and phone import their data")
    let files: [(device: Device, name: String, bytes: [UInt8])] = [
      (laptop, "habits-of-laptop.json", SampleData.ritualist(seed: 1)),
      (phone, "habits-of-phone.json", SampleData.ritualist(seed: 2)),
      (phone, "trips-of-phone.json", SampleData.travelingSnails(seed: 3)),
    ]
    for (device, name, bytes) in files {
      let path = try stage.write(bytes, name)
      let began = story.seconds
      let summary = try device.json("import", path, seconds: 90)
      let added = summary["added"]?.integer ?? 0
      try expect(added > 400, "\(device.name) imported only \(added) records")
      try expect(summary["skipped"] == 0, "\(device.name) skipped rows of \(name)")
      let seconds = String(format: "%.1f s", story.seconds - began)
      story.tick(
        device.name, "imported \(grouped(added)) records from \(name)",
        "\(bytes.count / 1024) KiB, \(seconds)")
    }
    let again = try laptop.json("import", stage.folder.appending(path: "habits-of-laptop.json").path)
    try expect(again["added"] == 0 && again["updated"] == 0, "importing the file again changed something")
    story.tick("laptop", "imported the same file again; nothing changed")
    phoneBefore = try phone.status()
  }

  private mutating func join(_ story: inout Story) throws {
    story.chapter("Phone joins with its records; laptop and phone get premium")
    let ticket = try laptop.text("invite")
    try phone.text("join", "-", "--name", "phone", "--yes", input: ticket, seconds: 90)
    let joined = try phone.status()
    try expect(joined.circle == circle, "phone is not in the circle of laptop")
    for kind in Status.recordKinds {
      let before = phoneBefore?.count(kind) ?? 0
      try expect(
        joined.count(kind) == before, "phone had \(before) \(kind) and now has \(joined.count(kind))")
    }
    try phone.start()
    story.tick("phone", "joined and kept all of its \(grouped(joined.records)) records")
    let year = Date().addingTimeInterval(365 * 86_400)
    try entitle(laptop, until: year)
    story.tick("laptop", "has premium from its own entitlement", "until \(day(year))")
    // Long enough for the remaining steps, estimated from the time that the steps so far have taken on this machine.
    let seconds = max(20, story.seconds * 1.5).rounded()
    try extendPhone(seconds: seconds)
    story.tick(
      "phone", "has premium from its own entitlement", "only for \(Int(seconds)) seconds: see step 8")
  }

  /// Signs an entitlement for one device and installs it on laptop, from which it syncs to that device.
  private func entitle(_ device: Device, until: Date) throws {
    let file = stage.folder.appending(path: "certificate-\(UUID().uuidString)").path
    let key = stage.folder.appending(path: "issuer").path
    try laptop.text(
      "issuer", "issue", "--key", key, "--circle", circle, "--device", try device.status().device, "--until",
      ISO8601DateFormatter().string(from: until), "--output", file)
    try laptop.text("entitlement", "install", file)
    try device.wait("it has premium") { $0.isPremium }
  }

  /// Gives the phone premium that ends while the phone's node is running.
  private mutating func extendPhone(seconds: Double) throws {
    phonePremiumEnds = Date().addingTimeInterval(seconds)
    try entitle(phone, until: phonePremiumEnds)
  }

  /// Extends the phone's premium if it would end too early, that is, during another step on a slow machine.
  private mutating func keepPhonePremium(_ story: Story) throws {
    let seconds = max(12, story.seconds / 2).rounded()
    guard phonePremiumEnds.timeIntervalSinceNow < seconds else { return }
    try extendPhone(seconds: seconds)
    story.say("(phone's premium would have ended too early, so it now lasts \(Int(seconds)) more seconds)")
  }

  // MARK: Merge

  private mutating func merge(_ story: inout Story) throws {
    story.chapter("Sync is turned on: the records of both devices are merged")
    let before = try laptop.status()
    try laptop.text("sync", "on")
    let preview = try phone.json("sync", "on", "--preview")
    let total = preview["total"]
    func sum(_ key: String) -> Int64 { total?[key]?.integer ?? -1 }
    try expect(
      sum("onlyHere") > 0 && sum("onlyThere") > 0, "the preview shows no records to merge")
    story.tick(
      "phone",
      "previews the merge: \(grouped(sum("onlyHere"))) records only here, \(grouped(sum("onlyThere"))) only there",
      "sync on --preview")
    try expect(try phone.run(["sync", "on"]).code == 7, "records were merged without confirmation")
    let began = story.seconds
    try phone.text("sync", "on", "--yes")
    try phone.text("wait", "--peer", "laptop", "--timeout", "60s", seconds: 70)
    let seconds = story.seconds - began
    let (mine, theirs) = try equalDigests()
    for kind in ["habits", "habitEntries", "trips", "lodging", "transportation", "activities"] {
      let sum = before.count(kind) + (phoneBefore?.count(kind) ?? 0)
      try expect(mine.count(kind) == sum, "expected \(sum) \(kind) on laptop, found \(mine.count(kind))")
      try expect(theirs.count(kind) == sum, "expected \(sum) \(kind) on phone, found \(theirs.count(kind))")
    }
    story.tick("both", "hold the same \(grouped(mine.records)) records", String(format: "%.1f s", seconds))
    let items = ["lodging", "transportation", "activities"].reduce(0) { $0 + mine.count($1) }
    story.detail(
      "\(mine.count("habits")) habits · \(grouped(mine.count("habitEntries"))) habit entries · "
        + "\(mine.count("trips")) trips with \(grouped(items)) items")
    story.tick("both", "records digest \(short(mine.digest("records")))", "equal on both devices")
    for device in [laptop, phone] {
      let names = (try device.json("organization", "list")["organizations"]?.array ?? []).map {
        $0["name"]?.string
      }
      try expect(names.first == "None", "the organization None is not the first on \(device.name)")
      try expect(names.filter { $0 == "None" }.count == 1, "\(device.name) has the organization None twice")
    }
    story.tick("both", "have one organization “None”; the imported file contained two, with different ids")
    let profiles = try [laptop, phone].map { try $0.json("profile", "show")["name"]?.string ?? "" }
    try expect(profiles[0] == profiles[1] && !profiles[0].isEmpty, "the profiles differ: \(profiles)")
    story.tick("both", "show the newer of the two profiles", profiles[0])
  }

  /// Returns the status of laptop and phone, after checking that the digests of both lanes are equal.
  private func equalDigests() throws -> (Status, Status) {
    let mine = try laptop.status()
    let theirs = try phone.status()
    for lane in ["settings", "records"] {
      try expect(
        mine.digest(lane) == theirs.digest(lane) && !mine.digest(lane).isEmpty,
        "\(lane) digests differ: \(short(mine.digest(lane))) and \(short(theirs.digest(lane)))")
    }
    return (mine, theirs)
  }

  private mutating func keepTheTabletFree(_ story: inout Story) throws {
    story.chapter("Tablet has no premium: it receives settings but no records")
    try laptop.text("onboarding", "complete")
    try laptop.text("settings", "set", "colorScheme", "dark")
    try tablet.text("wait", "--lane", "settings", "--peer", "laptop", "--timeout", "30s", seconds: 40)
    let onboarding = try tablet.json("onboarding", "show")
    try expect(onboarding["flag"] == true, "the onboarding flag did not reach tablet")
    let scheme = try tablet.text("settings", "get", "colorScheme")
    try expect(scheme == "dark", "tablet has colorScheme = \(scheme)")
    story.tick("tablet", "has the onboarding flag and colorScheme = dark, both from laptop")
    let refused = try tablet.run(["sync", "on"])
    try expect(refused.code == 4, "`sync on` on the free tablet exited with \(refused.code) instead of 4")
    story.tick("tablet", "cannot turn sync on", "exit code 4")
    for line in refused.errors.split(separator: "\n") { story.quote(String(line)) }
    try tabletHoldsNoRecord()
    story.tick("tablet", "holds 0 records")
  }

  private func tabletHoldsNoRecord() throws {
    let status = try tablet.status()
    let sets = status.document["lanes"]?["records"]?["changeSets"]?.integer
    try expect(
      status.records == 0 && sets == 0, "tablet holds \(status.records) records in \(sets ?? -1) sets")
  }

  // MARK: Apart and together

  private mutating func drift(_ story: inout Story) throws {
    try keepPhonePremium(story)
    story.chapter("Phone is offline; laptop and phone keep writing")
    try phone.stop()
    story.tick("phone", "is offline; commands still work with its store")
    let habits = try laptop.json("habit", "list")["habits"]?.array ?? []
    let habitItem = habits.first
    habit = habitItem?["id"]?.string ?? ""
    let habitName = habitItem?["name"]?.string ?? ""
    try laptop.text("habit", "edit", habit, "priorityLevel=3", "notes=in the park")
    try phone.text("habit", "edit", habit, "colorHex=#00AA55", "notes=by the river")
    story.tick("both", "edit the habit “\(habitName)”")
    story.detail("laptop: priorityLevel = 3, notes = “in the park”")
    story.detail("phone:  colorHex = #00AA55, notes = “by the river”")
    try laptop.text("profile", "set", "name=Zoë from laptop")
    try phone.text("profile", "set", "name=Zoë from phone")
    story.tick("both", "change the name in the profile", "first “Zoë from laptop”, then “Zoë from phone”")
    let trips = try laptop.json("trip", "list")["trips"]?.array ?? []
    guard let doomed = trips.first(where: { ($0["activities"]?.integer ?? 0) > 0 }) else {
      throw Failure("no trip has an activity")
    }
    trip = doomed["id"]?.string ?? ""
    try laptop.text("trip", "delete", trip, "--yes")
    try phone.text(
      "lodging", "add", "trip=\(trip)", "name=Casa Rosa", "start=2026-05-03T15:00", "startTZ=Europe/Rome",
      "cost=120.50", "currency=EUR")
    story.tick(
      "both", "change the trip “\(doomed["name"]?.string ?? "")”",
      "laptop deletes it, phone adds a lodging to it")
  }

  private mutating func comeBack(_ story: inout Story) throws {
    story.chapter("Phone comes back")
    try phone.start()
    try phone.text("wait", "--peer", "laptop", "--timeout", "40s", seconds: 50)
    let (mine, _) = try equalDigests()
    story.tick("both", "records digest \(short(mine.digest("records")))", "equal again")
    for device in [laptop, phone] {
      let document = try device.json("habit", "show", habit)
      try expect(document["priorityLevel"] == 3, "the edit made on laptop is lost on \(device.name)")
      try expect(document["colorHex"] == "#00AA55", "the edit made on phone is lost on \(device.name)")
      try expect(document["notes"] == "by the river", "\(device.name) does not show the later note")
      let name = try device.json("profile", "show")["name"]
      try expect(name == "Zoë from phone", "\(device.name) does not show the later profile")
    }
    story.tick("both", "have laptop's priority and phone's colour: changes to different fields are merged")
    let conflicts = try laptop.json("conflicts", "list")["conflicts"]?.array ?? []
    let theirs = try phone.json("conflicts", "list")["conflicts"]?.array ?? []
    try expect(conflicts == theirs, "laptop and phone list different conflicts")
    try expect(conflicts.count >= 3, "only \(conflicts.count) conflicts are listed")
    story.tick("both", "list the same \(conflicts.count) conflicts, each with the losing value, still kept")
    for conflict in conflicts { story.detail(line(of: conflict)) }
    let gone = try phone.run(["trip", "show", trip])
    try expect(gone.code == 8, "phone still shows the deleted trip")
    story.tick("both", "no longer show the deleted trip; it is kept in the trash, with its new lodging")
  }

  private func line(of conflict: JSON) -> String {
    let isWhole = conflict["reason"] == "hidden-by-parent"
    func text(_ side: JSON?) -> String {
      let value = side?["value"]
      let shown = value?.string ?? value?["name"]?.string ?? value?.text() ?? "–"
      // A write of a whole record is described by a word instead of a value, so it is not quoted.
      if isWhole { return "\(shown) (\(side?["deviceName"]?.string ?? "?"))" }
      return "“\(shown)” (\(side?["deviceName"]?.string ?? "?"))"
    }
    let what = ["kind", "field"].compactMap { conflict[$0]?.string }.joined(separator: ".")
    let whole =
      isWhole ? "“\(conflict["name"]?.string ?? "")”: " : ""
    let losers = (conflict["losers"]?.array ?? []).map { text($0) }.joined(separator: ", ")
    let head = what.padding(toLength: max(11, what.count), withPad: " ", startingAt: 0)
    return
      "\(head)  \(whole)\(text(conflict["winner"])) won over \(losers)  [\(conflict["reason"]?.string ?? "")]"
  }

  // MARK: The end of premium

  private mutating func expire(_ story: inout Story) throws {
    story.chapter("Phone's premium ends while its node is running")
    let left = phonePremiumEnds.timeIntervalSinceNow
    if left > 0 { story.say("\(Int(left) + 1) seconds left …") }
    let ended = try phone.wait("premium has ended", seconds: max(0, Int(left)) + 20) {
      !$0.isPremium && !$0.isSyncing
    }
    try expect(
      ended.premiumReason == "entitlement_expired", "the reason is \(ended.premiumReason ?? "none given")")
    story.tick("phone", "lost premium at the exact second, without a restart", "premium: expired")
    let records = ended.records
    let digest = ended.digest("records")
    let added = try laptop.text("trip", "add", "name=Only on laptop")
    try laptop.text("settings", "set", "biometricTimeoutMinutes", "15")
    try phone.text("wait", "--lane", "settings", "--peer", "laptop", "--timeout", "30s", seconds: 40)
    let minutes = try phone.text("settings", "get", "biometricTimeoutMinutes")
    try expect(minutes == "15", "phone has biometricTimeoutMinutes = \(minutes)")
    story.tick("phone", "still receives settings", "biometricTimeoutMinutes = 15")
    // The setting was written after the trip and has arrived, so by now the trip would have arrived too.
    let after = try phone.status()
    try expect(after.digest("records") == digest, "the records of phone changed after its premium had ended")
    try expect(
      try phone.run(["trip", "show", added]).code == 8, "phone received a trip after its premium had ended")
    story.tick("phone", "no longer receives records", "laptop's new trip is only on laptop")
    try expect(
      after.records == records && records > 40_000, "phone lost data: \(after.records) of \(records) remain")
    story.tick("phone", "still has all of its \(grouped(records)) records")
    try tabletHoldsNoRecord()
    story.tick("tablet", "still has the onboarding flag and settings, and no records")
  }

  private func day(_ date: Date) -> String { String(ISO8601DateFormatter().string(from: date).prefix(10)) }
}
