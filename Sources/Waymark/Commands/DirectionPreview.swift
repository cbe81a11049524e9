import Engine
import JSONDocument
import Membership
import Records
import Replication
import Storage
import Wire

/// What a forced direction would change, as a person sees it before the yes.
struct DirectionPreview {
  enum Change: String, CaseIterable {
    case added
    case changed
    case deleted
    case restored
  }

  /// What was typed, and what it means.
  struct Scope {
    var records = Direction.Scope()
    var only: String?
    var trip: String?
  }

  let verb: String
  /// Whose state is wanted; nil for this device's own.
  let peer: Member?
  let scope: Scope
  /// The peers whose state changes; empty where this device's does.
  var asked: [Member] = []
  /// Those that are not there: what only they hold is not taken back.
  var notAsked: [Member] = []
  private(set) var changes: [RecordKey: Change] = [:]
  /// Records that only another device has: it is not known here whether they belong to the trip.
  var unknown: Set<RecordKey> = []
  var turnsSyncOn = false

  init(verb: String, peer: Member?, scope: Scope) {
    self.verb = verb
    self.peer = peer
    self.scope = scope
  }

  /// Notes who of the others answered; whoever has left before stays out.
  mutating func note(asked peers: [Member], of others: [Member]) {
    asked = peers
    notAsked = others.filter { other in !peers.contains { $0.device == other.device } }
  }

  /// Of several peers the first counts.
  mutating func add(_ key: RecordKey, _ change: Change) {
    if changes[key] == nil { changes[key] = change }
  }

  /// The command as it is typed.
  var command: String {
    var words = ["waymark", verb]
    if let peer { words += ["--from", shellWord(peer.name)] }
    if let only = scope.only { words += ["--only", only] }
    if let trip = scope.trip { words += ["--trip", shellWord(trip)] }
    return words.joined(separator: " ")
  }

  /// What the yes is about.
  var question: String {
    let part = scope.only == nil && scope.trip == nil ? "" : ", in the part that you named,"
    let who =
      peer.map { "This device\(part) becomes what \($0.name) holds now" }
      ?? "All other devices\(part) become what this one holds now"
    let away = notAsked.isEmpty ? "" : " Not there: \(notAsked.map(\.name).joined(separator: ", "))."
    let on = turnsSyncOn ? " Sync of records is turned on with it." : ""
    return "\(who): \(summary).\(away)\(on) A backup is taken first, and waymark undo takes it back."
  }

  private var summary: String {
    let counts = counts.flatMap { kind, counts in
      Change.allCases.compactMap { change in
        counts[change].map { plural($0, kind?.name ?? "record", kind?.plural) + " \(change.rawValue)" }
      }
    }.joined(separator: ", ")
    let known = counts.isEmpty ? "nothing that is visible changes" : counts
    return unknown.isEmpty
      ? known
      : known + ", and what of \(plural(unknown.count, "record")) "
        + "unknown to this device belongs to the trip"
  }

  /// Kinds in the order of their numbers.
  private var counts: [(kind: Kind?, counts: [Change: Int])] {
    var counts: [KindNumber: [Change: Int]] = [:]
    for (key, change) in changes { counts[key.kind, default: [:]][change, default: 0] += 1 }
    return counts.sorted { $0.key < $1.key }.map { (Registry.kind($0.key), $0.value) }
  }

  // MARK: Document

  func document(
    _ request: CommandRequest, isPreview: Bool, outcome: OverrideOutcome? = nil, backup: String? = nil
  ) -> JSON {
    Waymark.document(
      verb,
      [
        .init("preview", .bool(isPreview)),
        .init("from", peer.map(json) ?? .null),
        .init("only", .text(scope.only)), .init("trip", .text(scope.records.trip?.id.uuid)),
        .init("turnsSyncOn", .bool(turnsSyncOn)), .init("kinds", .array(counts.map(json))),
        .init("total", json(total)), .init("unknown", .integer(unknown.count)),
        .init("peers", .array(asked.map(json))), .init("notAsked", .array(notAsked.map(json))),
        .init("operation", .text(outcome?.operation?.description)), .init("backup", .text(backup)),
        .init("elsewhere", .array(elsewhere(outcome))),
      ])
  }

  private func json(_ member: Member) -> JSON {
    ["device": .string(member.device.description), "name": .string(member.name)]
  }

  private var total: [Change: Int] {
    changes.values.reduce(into: [:]) { $0[$1, default: 0] += 1 }
  }

  private func json(_ kind: Kind?, _ counts: [Change: Int]) -> JSON {
    var document: JSON = [
      "kind": .string(kind?.name ?? "record"), "plural": .string(kind?.plural ?? "records"),
    ]
    for member in json(counts).members ?? [] { document[member.key] = member.value }
    return document
  }

  private func json(_ counts: [Change: Int]) -> JSON {
    .object(Change.allCases.map { .init($0.rawValue, .integer(counts[$0] ?? 0)) })
  }

  /// What others wrote after the direction was asked for: it merged as usual.
  private func elsewhere(_ outcome: OverrideOutcome?) -> [JSON] {
    (outcome?.elsewhere ?? [:]).sorted { $0.key < $1.key }.map { number, count in
      let kind = Registry.kind(number)
      return [
        "kind": .string(kind?.name ?? "record"), "plural": .string(kind?.plural ?? "records"),
        "records": .integer(count),
      ]
    }
  }
}
