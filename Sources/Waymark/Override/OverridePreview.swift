import Engine
import Foundation
import Membership
import Records
import Replication
import Storage
import Wire

/// What a forced direction would change, as a person sees it before the yes.
struct OverridePreview {
  enum Change: String, CaseIterable {
    case added
    case changed
    case deleted
    case restored
  }

  let verb: String
  /// Whose state is wanted; nil for this device's own.
  let peer: Member?
  let scope: OverrideOperation.Scope
  /// The peers whose state changes; empty where this device's does.
  var asked: [Member] = []
  /// Those that are not there: what only they hold is not taken back.
  var notAsked: [Member] = []
  private(set) var changes: [RecordKey: Change] = [:]
  /// Records that only another device has: it is not known here whether they belong to the trip.
  private(set) var unknown: Set<RecordKey> = []
  var turnsSyncOn = false

  init(verb: String, peer: Member?, scope: OverrideOperation.Scope) {
    self.verb = verb
    self.peer = peer
    self.scope = scope
  }

  /// Notes who of the others answered; whoever has left before stays out.
  mutating func note(asked peers: [Member], of others: [Member]) {
    asked = peers
    notAsked = others.filter { other in !peers.contains { $0.device == other.device } }
  }

  /// Notes what changes where one inventory becomes another.
  ///
  /// - Parameter isHere: whether it is the store of this device that changes.
  mutating func compare(from: Inventory, to: Inventory, isHere: Bool, in store: Store) throws {
    let scope = scope.records
    for key in Set(from.items.keys).union(to.items.keys) where scope.kind.map({ $0 == key.kind }) ?? true {
      let change: Change
      switch (from.items[key], to.items[key]) {
      case (nil, _?):
        // Whether another device has it in its trash, only that device knows.
        change = try isHere && store.record(key)?.life == false ? .restored : .added
      case (_?, nil): change = .deleted
      case (let before, let after): if before == after { continue } else { change = .changed }
      }
      if try scope.trip.map({ try store.isUnder($0, key) }) ?? true {
        // Of several peers the first counts.
        if changes[key] == nil { changes[key] = change }
      } else if Registry.kind(key.kind)?.parent != nil, try store.record(key) == nil {
        unknown.insert(key)
      }
    }
  }

  /// What is typed after the word `waymark`.
  var words: String {
    var words = [verb]
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

  // MARK: Summary

  func summary(isPreview: Bool, outcome: OverrideOutcome? = nil, backup: String? = nil) -> OverrideSummary {
    OverrideSummary(
      isPreview: isPreview, from: peer.map { DeviceReference($0) },
      only: scope.only.map(RecordKind.init(rawValue:)), trip: scope.records.trip.map { UUID($0.id) },
      turnsSyncOn: turnsSyncOn, kinds: counts.map { OverrideSummary.KindChanges($0.kind, $0.counts) },
      total: OverrideSummary.Total(changes.values.reduce(into: [:]) { $0[$1, default: 0] += 1 }),
      unknown: unknown.count, peers: asked.map { DeviceReference($0) },
      notAsked: notAsked.map { DeviceReference($0) }, operation: outcome?.operation, backup: backup,
      elsewhere: (outcome?.elsewhere ?? [:]).sorted { $0.key < $1.key }.map { number, count in
        let kind = Registry.kind(number)
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
