import Records
package import Replication
package import Wire

/// The visible records of one device, with a hash of the content of each. Records with equal content have equal hashes,
/// no matter who wrote them.
package struct Inventory: Sendable {
  package private(set) var items: [RecordKey: Bytes32] = [:]
  package private(set) var profile: WholeRecordRank?
  /// The hash of the folded heads at which the inventory was taken.
  package let folded: Bytes32

  package init(folded: Bytes32) { self.folded = folded }

  package mutating func add(_ item: InventoryItem) {
    items[item.key] = item.hash
    if item.key == FixedRecords.profile { profile = item.rank }
  }
}

/// The numbers of records of one kind that are only here, only there, or on both sides with the same or different
/// content.
package struct KindComparison: Hashable, Sendable {
  package fileprivate(set) var onlyHere = 0
  package fileprivate(set) var onlyThere = 0
  package fileprivate(set) var same = 0
  package fileprivate(set) var differing = 0
}

/// A comparison of this device's records with those of one or more peers.
package struct InventoryComparison: Sendable {
  package private(set) var kinds: [KindNumber: KindComparison] = [:]
  /// The records that are on both sides with different content, sorted.
  package private(set) var differing: [RecordKey] = []

  /// Compares the inventories. A record counts as the same if all peers that have it agree with this device.
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

/// Which of two profiles will win when the devices sync, and why.
package struct ProfileOutcome: Sendable {
  package enum Reason: String, Sendable {
    case updatedAt = "updated_at"
    case filledIn = "filled_in"
    case stamp

    /// Finds the first criterion by which two ranks differ.
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
  /// The highest-ranked profile among the peers.
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
