import Engine
import Platform
import Home
import Membership
import Model
import NodeRuntime
import Reasons
import Records
import Replication
import Storage
import Verification
import Wire

/// What an override would change, as shown before confirmation.
struct OverridePreview {
  enum Change: String, CaseIterable {
    case added
    case changed
    case deleted
    case restored
  }

  let verb: String
  /// The peer whose state is taken; nil if this device's state is taken.
  let peer: Member?
  let scope: OverrideOperation.Scope
  /// The peers whose state would change; empty if this device's state would change.
  var asked: [Member] = []
  /// The members that could not be asked, usually because they are not connected. Changes that only they hold are not
  /// reverted.
  var notAsked: [Member] = []
  private(set) var changes: [RecordKey: Change] = [:]
  /// The records that only another device has and that may belong to the trip, which this device can't tell.
  private(set) var unknown: Set<RecordKey> = []
  var turnsSyncOn = false
  private let schema: Schema

  init(verb: String, peer: Member?, scope: OverrideOperation.Scope, _ schema: Schema) {
    self.schema = schema
    self.verb = verb
    self.peer = peer
    self.scope = scope
  }

  /// Notes which of the other members answered.
  mutating func note(asked peers: [Member], of others: [Member]) {
    asked = peers
    notAsked = others.filter { other in !peers.contains { $0.device == other.device } }
  }

  /// Adds the changes that turn one inventory into another.
  ///
  /// - Parameter isHere: whether the inventory that changes is this device's.
  mutating func compare(from: Inventory, to: Inventory, isHere: Bool, in store: Store) throws {
    let scope = scope.records
    for key in Set(from.items.keys).union(to.items.keys) where scope.kind.map({ $0 == key.kind }) ?? true {
      let change: Change
      switch (from.items[key], to.items[key]) {
      case (nil, _?):
        // Each device knows only its own trash, so on a peer a record that is restored counts as added.
        change = try isHere && store.record(key)?.life == false ? .restored : .added
      case (_?, nil): change = .deleted
      case (let before, let after): if before == after { continue } else { change = .changed }
      }
      if try scope.trip.map({ try store.isUnder($0, key) }) ?? true {
        // If the record would change in different ways on several peers, the first peer's change is shown.
        if changes[key] == nil { changes[key] = change }
      } else if let trip = scope.trip, store.schema.canBelong(key.kind, to: trip.kind),
        try store.record(key) == nil
      {
        unknown.insert(key)
      }
    }
  }

  /// The command without the leading `waymark`.
  var words: String {
    var words = [verb]
    if let peer { words += ["--from", shellWord(peer.name)] }
    if let only = scope.only { words += ["--only", only] }
    if let trip = scope.trip { words += ["--trip", shellWord(trip)] }
    return words.joined(separator: " ")
  }

  /// The question that the person has to confirm.
  var question: LocalizableText {
    let records: LocalizableText =
      scope.only == nil && scope.trip == nil ? "The records" : "The selected records"
    let who: LocalizableText =
      peer.map {
        "\(records) of this device will be replaced with what \($0.name) holds now, "
          + "and with the next sync so will those of every other device"
      } ?? "\(records) of all other devices will be replaced with what this one holds now"
    let away: LocalizableText =
      notAsked.isEmpty ? "" : " Not connected: \(notAsked.map(\.name).joined(separator: ", "))."
    let on: LocalizableText = turnsSyncOn ? " This also turns on sync of records." : ""
    return "\(who): \(summary).\(away)\(on) A backup is taken first, and the change can be undone."
  }

  private var summary: String {
    let counts = counts.flatMap { kind, counts in
      Change.allCases.compactMap { change in
        counts[change].map { plural($0, kind?.name ?? "record", kind?.plural) + " \(change.rawValue)" }
      }
    }.joined(separator: ", ")
    let known = counts.isEmpty ? "no visible changes" : counts
    return unknown.isEmpty
      ? known
      : known + ", and any of \(plural(unknown.count, "record")) "
        + "unknown to this device that belong to the trip"
  }

  /// The numbers of changes by kind, in the order of kind numbers.
  private var counts: [(kind: Kind?, counts: [Change: Int])] {
    var counts: [KindNumber: [Change: Int]] = [:]
    for (key, change) in changes { counts[key.kind, default: [:]][change, default: 0] += 1 }
    return counts.sorted { $0.key < $1.key }.map { (schema.kind($0.key), $0.value) }
  }

  // MARK: Summary

  func summary(isPreview: Bool, outcome: OverrideOutcome? = nil, backup: String? = nil) -> OverrideSummary {
    OverrideSummary(
      isPreview: isPreview, from: peer.map { DeviceReference($0) },
      only: scope.only.map(RecordKind.init(rawValue:)), trip: scope.records.trip.map { Trip.ID($0.id) },
      turnsSyncOn: turnsSyncOn, kinds: counts.map { OverrideSummary.KindChanges($0.kind, $0.counts) },
      total: OverrideSummary.Total(changes.values.reduce(into: [:]) { $0[$1, default: 0] += 1 }),
      unknown: unknown.count, peers: asked.map { DeviceReference($0) },
      notAsked: notAsked.map { DeviceReference($0) }, operation: outcome?.operation, backup: backup,
      elsewhere: (outcome?.elsewhere ?? [:]).sorted { $0.key < $1.key }.map { number, count in
        let kind = schema.kind(number)
        return OverrideSummary.Elsewhere(
          kind: RecordKind(rawValue: kind?.name ?? "record"), plural: kind?.plural ?? "records",
          records: count)
      })
  }
}

extension OverrideSummary.KindChanges {
  fileprivate init(_ kind: Kind?, _ counts: [OverridePreview.Change: Int]) {
    self.init(
      kind: RecordKind(rawValue: kind?.name ?? "record"), plural: kind?.plural ?? "records",
      added: counts[.added] ?? 0, changed: counts[.changed] ?? 0, deleted: counts[.deleted] ?? 0,
      restored: counts[.restored] ?? 0)
  }
}

extension OverrideSummary.Total {
  fileprivate init(_ counts: [OverridePreview.Change: Int]) {
    self.init(
      added: counts[.added] ?? 0, changed: counts[.changed] ?? 0, deleted: counts[.deleted] ?? 0,
      restored: counts[.restored] ?? 0)
  }
}

extension Schema {
  /// Returns whether records of a kind can belong to records of another kind, directly or through others.
  fileprivate func canBelong(_ kind: KindNumber, to ancestor: KindNumber) -> Bool {
    self.kind(kind)?.parentKinds.contains { $0 == ancestor || canBelong($0, to: ancestor) } ?? false
  }
}
