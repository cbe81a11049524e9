import Records
package import Replication
package import Wire

/// What one device shows of its records: a hash of each, whoever wrote them.
package struct Inventory: Sendable {
  package private(set) var items: [RecordKey: Bytes32] = [:]
  package private(set) var profile: WholeRecordRank?
  /// The hash of the folded heads that all of it is true for.
  package let folded: Bytes32

  package init(folded: Bytes32) { self.folded = folded }

  /// Pieces of large fields are parts of the records that list them.
  package mutating func add(_ item: InventoryItem) {
    guard item.key.kind != Registry.content.number else { return }
    items[item.key] = item.hash
    if item.key == FixedRecords.profile { profile = item.rank }
  }
}

/// How many records of a kind are where.
package struct KindComparison: Hashable, Sendable {
  package fileprivate(set) var onlyHere = 0
  package fileprivate(set) var onlyThere = 0
  package fileprivate(set) var same = 0
  package fileprivate(set) var differing = 0
}

/// This device's records beside those of one or several peers.
package struct InventoryComparison: Sendable {
  package private(set) var kinds: [KindNumber: KindComparison] = [:]
  /// Records that are on both sides and say different things, in order.
  package private(set) var differing: [RecordKey] = []

  /// A record is the same if it is on every peer that has it at all.
  package init(own: Inventory, theirs: [Inventory]) {
    var isSame: [RecordKey: Bool] = [:]
    for peer in theirs {
      for (key, hash) in peer.items { isSame[key] = isSame[key] ?? true && own.items[key] == hash }
    }
    for key in own.items.keys where isSame[key] == nil { kinds[key.kind, default: .init()].onlyHere += 1 }
    for (key, same) in isSame {
      if own.items[key] == nil {
        kinds[key.kind, default: .init()].onlyThere += 1
      } else if same {
        kinds[key.kind, default: .init()].same += 1
      } else {
        kinds[key.kind, default: .init()].differing += 1
        differing.append(key)
      }
    }
    differing.sort()
  }

  package var total: KindComparison {
    kinds.values.reduce(into: KindComparison()) { sum, kind in
      sum.onlyHere += kind.onlyHere
      sum.onlyThere += kind.onlyThere
      sum.same += kind.same
      sum.differing += kind.differing
    }
  }
}

/// Which of two profiles shows once they meet, and why.
package struct ProfileOutcome: Sendable {
  package enum Reason: String, Sendable {
    case updatedAt = "updated_at"
    case filledIn = "filled_in"
    case stamp

    /// Why the higher of two ranks is higher.
    fileprivate init(_ one: WholeRecordRank, _ other: WholeRecordRank) {
      if one.updatedAt != other.updatedAt {
        self = .updatedAt
      } else {
        self = one.nonEmptyFields != other.nonEmptyFields ? .filledIn : .stamp
      }
    }

    package var sentence: String {
      switch self {
      case .updatedAt: "it was changed later"
      case .filledIn: "it was changed at the same time, and more of it is filled in"
      case .stamp: "it was written last"
      }
    }
  }

  package let here: WholeRecordRank?
  /// The one that ranks highest among the peers.
  package let there: WholeRecordRank?
  package let isSame: Bool

  package init(here: WholeRecordRank?, there: WholeRecordRank?, isSame: Bool) {
    self.here = here
    self.there = there
    self.isSame = isSame
  }

  package var reason: Reason? {
    guard !isSame, let here, let there else { return nil }
    return Reason(here, there)
  }

  package var isHere: Bool {
    guard let here else { return false }
    return there.map { $0 <= here } ?? true
  }
}
