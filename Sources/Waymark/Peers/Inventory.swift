import Membership
import Records
import Replication
import Storage
import Wire

/// What one device shows of its records: a hash of each, whoever wrote them.
struct Inventory: Sendable {
  var items: [RecordKey: Bytes32] = [:]
  var profile: WholeRecordRank?
  /// The hash of the folded heads that all of it is true for.
  var folded: Bytes32

  /// Pieces of large fields are parts of the records that list them.
  mutating func add(_ item: InventoryItem) {
    guard item.key.kind != Registry.content.number else { return }
    items[item.key] = item.hash
    if item.key == FixedRecords.profile { profile = item.rank }
  }
}

extension Inventory {
  /// What a node shows of its records.
  static func own(of node: isolated Node) async throws -> Inventory {
    try await collect(on: node) { try node.store.answer(.records, .inventory(after: $0)) }
  }

  /// What a peer shows of its records, asked page by page.
  static func of(_ peer: DeviceKey, asking node: isolated Node) async throws -> Inventory {
    try await collect(on: node) {
      try await PeerInquiry(peer: peer).answer(.records, .inventory(after: $0), on: node)
    }
  }

  /// Puts pages together; from the start if something was folded meanwhile.
  private static func collect(
    on node: isolated Node, _ page: (RecordKey?) async throws -> Answer
  ) async throws -> Inventory {
    let end = node.wall() + Limits.inventoryMillisecondsMax
    var inventory: Inventory?
    var last: RecordKey?
    while node.wall() < end {
      try node.checkOpen()
      let answer = try await page(last)
      guard case .inventory(let items) = answer.content else { break }
      if inventory?.folded != answer.folded, last != nil {
        (inventory, last) = (nil, nil)
        continue
      }
      var grown = inventory ?? Inventory(folded: answer.folded)
      for item in items { grown.add(item) }
      if answer.isDone { return grown }
      guard grown.items.count <= Limits.inventoryRecordsMax else { break }
      (inventory, last) = (grown, items.last?.key)
      // Other work of the node comes between pages.
      await Task.yield()
    }
    throw WaymarkError.failed(
      WaymarkError.notComparableCode, "There are too many records to compare, or they change all the time.",
      next: "waymark sync on --yes turns sync on without comparing")
  }
}

extension WaymarkError {
  /// Of what can't be compared, although the peer is there and willing.
  static let notComparableCode = "not_comparable"
}

/// How many records of a kind are where.
struct KindComparison: Hashable, Sendable {
  var onlyHere = 0
  var onlyThere = 0
  var same = 0
  var differing = 0

  var isEqual: Bool { onlyHere == 0 && onlyThere == 0 && differing == 0 }
}

/// This device's records beside those of one or several peers.
struct InventoryComparison: Sendable {
  private(set) var kinds: [KindNumber: KindComparison] = [:]
  /// Records that are on both sides and say different things, in order.
  private(set) var differing: [RecordKey] = []

  /// A record is the same if it is on every peer that has it at all.
  init(own: Inventory, theirs: [Inventory]) {
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

  var total: KindComparison {
    kinds.values.reduce(into: KindComparison()) { sum, kind in
      sum.onlyHere += kind.onlyHere
      sum.onlyThere += kind.onlyThere
      sum.same += kind.same
      sum.differing += kind.differing
    }
  }
}

/// Which of two profiles shows once they meet, and why.
struct ProfileOutcome: Sendable {
  enum Reason: String, Sendable {
    case updatedAt = "updated_at"
    case filledIn = "filled_in"
    case stamp

    /// Why the higher of two ranks is higher.
    init(_ one: WholeRecordRank, _ other: WholeRecordRank) {
      if one.updatedAt != other.updatedAt {
        self = .updatedAt
      } else {
        self = one.nonEmptyFields != other.nonEmptyFields ? .filledIn : .stamp
      }
    }

    var sentence: String {
      switch self {
      case .updatedAt: "it was changed later"
      case .filledIn: "it was changed at the same time, and more of it is filled in"
      case .stamp: "it was written last"
      }
    }
  }

  let here: WholeRecordRank?
  /// The one that ranks highest among the peers.
  let there: WholeRecordRank?
  let isSame: Bool

  var reason: Reason? {
    guard !isSame, let here, let there else { return nil }
    return Reason(here, there)
  }

  var isHere: Bool {
    guard let here else { return false }
    return there.map { $0 <= here } ?? true
  }
}
