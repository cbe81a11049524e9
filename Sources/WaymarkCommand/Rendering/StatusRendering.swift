import JSONDocument
import Waymark

/// `status`: the head line, the lanes, the peers, what waits.
extension Rendering {
  mutating func status(_ document: JSON) {
    let peers = document["peers"]?.array ?? []
    paragraphs(head(document))
    data.pairs([
      ("settings", laneText("settings", document, peers)),
      ("records", laneText("records", document, peers)),
      ("here", countsText(document["counts"])),
    ])
    if !peers.isEmpty {
      data.gap()
      data.table(peerTable(peers))
    }
    let closing = closingLines(document, peers)
    if !closing.isEmpty { data.gap() }
    for line in closing { data.paragraph(line.text, line.stress) }
  }

  /// The same for a window of few lines: the head, what waits for somebody, the peers, and no empty lines.
  mutating func glance(_ document: JSON) {
    let peers = document["peers"]?.array ?? []
    paragraphs(head(document))
    for line in closingLines(document, peers) where line.stress != .none && line.stress != .good {
      data.paragraph(line.text, line.stress)
    }
    if !peers.isEmpty { data.table(peerTable(peers)) }
    data.pairs([
      ("settings", laneText("settings", document, peers)), ("records", laneText("records", document, peers)),
    ])
  }

  private mutating func paragraphs(_ parts: [String]) {
    let line = parts.joined(separator: "   ")
    guard line.displayWidth > data.width else { return data.line(line) }
    let first = parts.dropLast().joined(separator: "   ")
    // Words of a paragraph lose the room between them; only a very long name needs that.
    if first.displayWidth > data.width { data.paragraph(first, indent: 0) } else { data.line(first) }
    data.paragraph(parts.last ?? "", indent: 0)
  }

  // MARK: Head

  private func head(_ document: JSON) -> [String] {
    let name = printable(document["name"]?.string ?? "")
    let premium = document["premium"]
    var parts = ["\(name)  \(shortID(document["device"]?.string))", runningText(document)]
    if isOut(document) {
      parts.append(data.paint("out of the circle", .bad))
    } else if premium?["active"]?.boolean == true {
      parts.append(premiumText(premium))
      parts.append(document["sync"]?["preference"]?.boolean == true ? "sync on" : "sync off")
    } else if premium?["reason"]?.string == "entitlement_expired" {
      let until = premium?["validUntil"]?.string.map { " on \(time.short($0))" } ?? ""
      parts.append("premium expired\(until) · settings sync, records stay on this device")
    } else {
      parts.append("free · settings sync, records stay on this device (waymark help premium)")
    }
    return parts
  }

  /// Whether this device was revoked, or went with the one that had let it in.
  private func isOut(_ document: JSON) -> Bool {
    document["notices"]?.array?.contains { ["revoked", "not_a_member"].contains($0["reason"]?.string) }
      ?? false
  }

  private func runningText(_ document: JSON) -> String {
    guard document["running"]?.boolean == true else { return "not running" }
    guard let since = document["runningSince"]?.string.flatMap(TimeText.moment) else { return "running" }
    return "running \(TimeText.span(time.now - since))"
  }

  private func premiumText(_ premium: JSON?) -> String {
    switch premium?["source"]?.string {
    case "all-features": "premium (all features build)"
    case "mock": "premium (mock purchase)" + until(premium)
    default: "premium" + until(premium)
    }
  }

  private func until(_ premium: JSON?) -> String {
    premium?["validUntil"]?.string.map { " until \(time.short($0))" } ?? ""
  }

  // MARK: Lanes

  private func laneText(_ lane: String, _ document: JSON, _ peers: [JSON]) -> String {
    let own = document["lanes"]?[lane]
    var parts: [String] = []
    if own?["open"]?.boolean != true {
      parts.append(closedText(lane, own?["reason"]?.string, document))
    } else if peers.isEmpty {
      parts.append("no other device yet")
    } else {
      parts.append(syncText(lane, peers))
    }
    if let parked = own?["parked"]?.integer, parked > 0 {
      parts.append("\(counted(parked, "change set")) parked until their time")
    }
    if lane == "records", let conflicts = document["conflicts"]?.integer, conflicts > 0 {
      parts.append(data.paint(counted(conflicts, "conflict"), .careful))
    }
    return parts.joined(separator: " · ")
  }

  private func closedText(_ lane: String, _ reason: String?, _ document: JSON) -> String {
    // The head says what it is to be free.
    guard let reason, reason != "free_tier" else { return "stay on this device" }
    let cause = document["reasons"]?.array?.first {
      $0["reason"]?.string == reason && $0["name"]?.string == nil
    }
    guard let text = cause?["text"]?.string else { return printable(reason) }
    return printable(text) + (cause?["next"]?.string.map { " (\(printable($0)))" } ?? "")
  }

  private func syncText(_ lane: String, _ peers: [JSON]) -> String {
    let open = peers.filter { $0["lanes"]?[lane]?["open"]?.boolean == true }
    guard !open.isEmpty else {
      let online = peers.contains { !["offline", "connecting"].contains($0["state"]?.string ?? "") }
      return online ? "no peer takes them now" : "no peer is connected"
    }
    let equal = open.filter { $0["lanes"]?[lane]?["digestEqual"]?.boolean == true }
    var parts: [String] = []
    if equal.count == open.count || !equal.isEmpty {
      let text = "in sync with \(equal.count) of \(counted(Int64(open.count), "peer"))"
      parts.append(equal.count == open.count ? data.paint(text, .good) : text)
    }
    for peer in open where peer["lanes"]?[lane]?["digestEqual"]?.boolean != true {
      let name = printable(peer["name"]?.string ?? "")
      if let ahead = peer["lanes"]?[lane]?["ahead"]?.integer, ahead > 0 {
        parts.append("\(counted(ahead, "change set")) not yet on \(name)")
      }
      if let behind = peer["lanes"]?[lane]?["behind"]?.integer, behind > 0 {
        parts.append("\(counted(behind, "change set")) still to come from \(name)")
      }
    }
    return parts.isEmpty ? "not in sync yet" : parts.joined(separator: " · ")
  }

  private func countsText(_ counts: JSON?) -> String {
    let names: [(String, String, String)] = [
      ("trips", "trip", "trips"), ("lodging", "lodging", "lodgings"),
      ("transportation", "transportation", "transportations"), ("activities", "activity", "activities"),
      ("organizations", "organization", "organizations"), ("habits", "habit", "habits"),
      ("categories", "category", "categories"), ("habitLogs", "habit log", "habit logs"),
      ("settings", "setting", "settings"),
    ]
    let parts = names.compactMap { key, one, many in
      counts?[key]?.integer.flatMap { $0 > 0 ? counted($0, one, many) : nil }
    }
    return parts.isEmpty ? "nothing yet" : parts.joined(separator: " · ")
  }

  // MARK: Closing

  private func closingLines(_ document: JSON, _ peers: [JSON]) -> [(text: String, stress: Stress)] {
    var lines: [(text: String, stress: Stress)] = []
    if document["running"]?.boolean != true, !peers.isEmpty {
      lines.append(("The node does not run here, so nothing is exchanged: waymark run", .careful))
    }
    // The rows say nothing of what this machine itself lacks.
    for cause in document["reasons"]?.array ?? []
    where cause["reason"]?.string == "no_route" && cause["name"]?.string == nil {
      let next = cause["next"]?.string.map { ": \(printable($0))" } ?? "."
      lines.append((sentence(printable(cause["text"]?.string ?? "")) + next, .careful))
    }
    if let loss = document["loss"] { lines += lossLines(loss, peers) }
    for notice in document["notices"]?.array ?? [] {
      let next = notice["next"]?.string.map { ": \(printable($0))" } ?? ""
      let text = sentence(printable(notice["text"]?.string ?? ""))
      let stress: Stress = notice["severity"]?.string == "error" ? .bad : .careful
      lines.append((next.isEmpty ? text + "." : text + next, stress))
    }
    let isNoticed = document["notices"]?.array?.contains { $0["reason"]?.string == "conflicts" } ?? false
    if let conflicts = document["conflicts"]?.integer, conflicts > 0, !isNoticed {
      let verb = conflicts == 1 ? "waits" : "wait"
      lines.append(("\(counted(conflicts, "conflict")) \(verb) for you: waymark conflicts", .careful))
    }
    return lines
  }

  private func sentence(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }
}

/// The table of peers, for `status` and `peers`.
extension Rendering {
  ///
  /// - Parameter showsPlaces: whether a peer that is in sync is shown with where it is.
  func peerTable(_ peers: [JSON], showsPlaces: Bool = false) -> TextTable {
    var table = TextTable([
      .init("PEER", widthMin: 8), .init("STATE"), .init("BEHIND", isRight: true),
      .init("AHEAD", isRight: true), .init("LAST SYNC"), .init("WHY", widthMin: 24),
    ])
    table.wrapsLast = true
    for peer in peers {
      let state = peer["state"]?.string ?? ""
      table.rows.append([
        .init(peer["name"]?.string ?? shortID(peer["device"]?.string)),
        .init(state.replacing("_", with: " "), stress(state)),
        .init(total("behind", peer)), .init(total("ahead", peer)),
        .init(time.ago(peer["lastSync"]?.string)), .init(why(peer, showsPlaces)),
      ])
    }
    return table
  }

  private func stress(_ state: String) -> Stress {
    switch state {
    case "in_sync": .good
    case "refused": .bad
    case "sending", "receiving", "connecting": .careful
    default: .none
    }
  }

  /// Change sets of both lanes; a dash where nothing is known.
  private func total(_ key: String, _ peer: JSON) -> String {
    let counts = ["settings", "records"].compactMap { peer["lanes"]?[$0]?[key]?.integer }
    return counts.isEmpty ? "–" : grouped(counts.reduce(0, +))
  }

  private func why(_ peer: JSON, _ showsPlaces: Bool) -> String {
    let isQuiet = peer["reason"]?.string == "in_sync" || peer["consequenceOf"]?.string != nil
    if isQuiet, peer["state"]?.string == "in_sync" {
      guard showsPlaces, let address = peer["address"]?.string else { return "" }
      return "at \(printable(address))" + (place(peer).map { ", \($0)" } ?? "")
    }
    // What follows from something else is said there, once.
    guard peer["consequenceOf"]?.string == nil else { return lastSeen(peer) ?? "" }
    var parts: [String] = []
    if peer["reason"]?.string == "offline", let seen = lastSeen(peer) {
      parts.append(seen)
    } else {
      parts.append(short(peer["text"]?.string ?? "", peer))
    }
    if let next = peer["next"]?.string { parts.append(shortStep(next, peer)) }
    return parts.joined(separator: " · ")
  }

  /// The row begins with the name: it need not be said again.
  private func short(_ text: String, _ peer: JSON) -> String {
    guard let name = peer["name"]?.string, !name.isEmpty else { return text }
    let shorter = [
      ("the address of \(name)", "its address"), ("the clock of \(name)", "its clock"),
      ("premium of \(name)", "its premium"), ("off on \(name)", "off there"), ("with \(name)", "with it"),
    ]
    let text = shorter.reduce(text) { replacing($1.0, with: $1.1, in: $0) }
    return text.hasPrefix(name + " ") ? "it" + text.dropFirst(name.count) : text
  }

  /// What is to be typed stays as it is; only where, behind it, is in the row already.
  private func shortStep(_ next: String, _ peer: JSON) -> String {
    let place = ", on \(peer["name"]?.string ?? "")"
    return next.hasSuffix(place) ? next.dropLast(place.count) + ", there" : next
  }

  /// Whole words only: one name may begin another.
  private func replacing(_ phrase: String, with shorter: String, in text: String) -> String {
    guard let found = text.firstRange(of: phrase) else { return text }
    let before = text[..<found.lowerBound].last
    let after = text[found.upperBound...].first
    let isPart = [before, after].contains { $0.map { $0.isLetter || $0.isNumber } ?? false }
    guard !isPart else { return text }
    return text[..<found.lowerBound] + shorter + text[found.upperBound...]
  }

  /// `last seen 13:02 at 192.168.1.23`, of a peer that is not connected.
  private func lastSeen(_ peer: JSON) -> String? {
    guard peer["state"]?.string == "offline",
      let seen = peer["lastSeen"]?.string ?? peer["since"]?.string ?? peer["lastSync"]?.string
    else { return nil }
    let place = peer["address"]?.string.map { " at \($0)" } ?? ""
    return "last seen \(time.short(seen))\(place)"
  }
}
