import Testing
import Vectors

@testable import Simulation

/// The checkers' own decoder agrees with the published vectors, accepted and refused.
@Suite struct PlainVectorTests {
  struct Encodings: Decodable {
    struct Group: Decodable {
      let accepted: [Row]
      let refused: [Row]
    }

    struct Row: Decodable {
      let name: String
      let bytes: String
    }

    let values: Group
    let maps: Group
  }

  private func value(_ bytes: [UInt8]) -> PlainItem? {
    guard let item = try? PlainItem.read(bytes), (try? item.checkFieldValue()) != nil else { return nil }
    return item
  }

  private func map(_ bytes: [UInt8]) -> PlainItem? {
    guard let item = try? PlainItem.read(bytes), case .map(let pairs) = item.form else { return nil }
    return pairs.allSatisfy { (try? $0.value.checkFieldValue()) != nil } ? item : nil
  }

  @Test func `values are decoded as in encoding md`() throws {
    let file = try vectors("cbor.json", as: Encodings.self)
    for row in file.values.accepted {
      let bytes = try expand(row.bytes)
      #expect(value(bytes) != nil, "\(row.name)")
      for end in bytes.indices.suffix(300) {
        #expect(value(Array(bytes[..<end])) == nil, "\(row.name) to \(end)")
      }
    }
    for row in file.values.refused { #expect(value(try expand(row.bytes)) == nil, "\(row.name)") }
    for row in file.maps.accepted { #expect(map(try expand(row.bytes)) != nil, "\(row.name)") }
    for row in file.maps.refused { #expect(map(try expand(row.bytes)) == nil, "\(row.name)") }
    #expect(file.values.accepted.count > 50 && file.values.refused.count > 50)
  }

  struct ChangeSets: Decodable {
    struct Sealed: Decodable {
      let header, signature, plan, values: String
      let id, name, stage, flag: String?
      let declaredBytes: Int?
      /// The slots whose values are absent.
      let absent: [Int]?

      func raw() throws -> PlainRawSet {
        PlainRawSet(
          header: try expand(header), signature: try expand(signature), plan: try expand(plan),
          values: try expand(values))
      }

      func read() throws -> Result<(set: PlainSet, values: PlainValues), PlainRefusal> {
        let raw = try raw()
        return Result { () throws(PlainRefusal) in
          let set = try PlainSet(raw)
          return (set, try PlainValues(raw.values, of: set))
        }
      }
    }

    struct Accepted: Decodable {
      let name: String
      let sets: [Sealed]
    }

    /// Other values of an accepted set.
    struct Copy: Decodable {
      let name, values: String
      let accepted, set: Int
      let absent: [Int]
    }

    struct Closure: Decodable {
      let flag, name: String
      let predecessor, set: Sealed
    }

    let accepted: [Accepted]
    let copies: [Copy]
    let unreadable, atTheLimits, refused: [Sealed]
    let closure: [Closure]
  }

  @Test func `change sets are decoded as in change-set md`() throws {
    let file = try vectors("change-sets.json", as: ChangeSets.self)
    for sealed in file.accepted.flatMap(\.sets) + file.atTheLimits + file.unreadable {
      switch try sealed.read() {
      case .success(let (set, values)):
        #expect("\(set.id)" == sealed.id)
        if let bytes = sealed.declaredBytes { #expect(set.header.declaredSize == bytes) }
        #expect(unreadable(values, of: set) == sealed.absent ?? [], "\(sealed.name ?? "")")
      case .failure(let refusal): Issue.record("\(sealed.name ?? ""): \(refusal)")
      }
    }
    for sealed in file.refused {
      switch try sealed.read() {
      case .success: Issue.record("\(sealed.flag ?? ""): \(sealed.name ?? "") is accepted")
      case .failure(let refusal): #expect(refusal.stage == sealed.stage, "\(sealed.name ?? ""): \(refusal)")
      }
    }
    #expect(file.refused.count > 100 && file.unreadable.count > 20)
  }

  /// The slots that have a content whose values are absent.
  private func unreadable(_ values: PlainValues, of set: PlainSet) -> [Int] {
    values.contents.indices.filter { slot in
      let count = set.entries[set.slots[slot]].fields.count
      return values.contents[slot].map { PlainValues.fields($0, count: count) == nil } ?? false
    }
  }

  @Test func `copies of a set may lack values`() throws {
    let file = try vectors("change-sets.json", as: ChangeSets.self)
    for copy in file.copies {
      let library = SetLibrary()
      for sealed in file.accepted[copy.accepted].sets.prefix(copy.set) {
        _ = try? library.add(try sealed.raw())
      }
      let sealed = try file.accepted[copy.accepted].sets[copy.set].raw()
      let set = try PlainSet(sealed)
      let values = try expand(copy.values)
      #expect(try PlainValues(values, of: set).missing == Set(copy.absent), "\(copy.name)")
      // The library adds up what the copies of a set have.
      let partial = PlainRawSet(
        header: sealed.header, signature: sealed.signature, plan: sealed.plan, values: values)
      guard let added = try? library.add(partial) else { continue }
      #expect(added.missing == Set(copy.absent))
      for slot in copy.absent { #expect(library.values(of: added.set, slot: slot) == nil) }
      let again = try library.add(sealed)
      #expect(again.set == added.set && again.missing == [])
      for slot in set.slots.indices { #expect(library.values(of: added.set, slot: slot) != nil) }
    }
    #expect(file.copies.count > 5)
  }

  @Test func `a set continues its log as in change-set md`() throws {
    for row in try vectors("change-sets.json", as: ChangeSets.self).closure {
      let predecessor = try PlainSet(try row.predecessor.raw())
      let objection = try PlainSet(try row.set.raw()).header.objection(after: predecessor.header)
      #expect(objection == (row.flag == "none" ? nil : row.flag), "\(row.name)")
    }
  }

  struct Circles: Decodable {
    struct Row: Decodable {
      let name, bytes: String
      let accepted: Bool
      let kind: UInt8?
      let id, circle, signer, reason: String?
    }

    struct Circle: Decodable {
      struct Log: Decodable {
        let device, incarnation, admission: String
        let lane: Int
        let cuts: [[String]]
        let line: String?
      }

      struct Member: Decodable {
        let role, transport: String
        let links: Int
      }

      let name, setHash: String
      let statements, revoked: [String]
      let members: [String: Member]
      let logs: [Log]
    }

    struct Gate: Decodable {
      let name, device: String
      let statements: [String]
      let time: UInt64
      let reason: String?
      let gateTime: UInt64?
    }

    let statements: [Row]
    let circles: [Circle]
    let gates: [Gate]
  }

  @Test func `statements are decoded as in circle md`() throws {
    for row in try vectors("circle.json", as: Circles.self).statements {
      let bytes = try expand(row.bytes)
      guard row.accepted else {
        let refusal = #expect(throws: PlainRefusal.self, "\(row.name)") { try PlainStatement(bytes) }
        #expect(refusal?.stage == row.reason, "\(row.name)")
        continue
      }
      let statement = try PlainStatement(bytes)
      #expect("\(statement.id)" == row.id && statement.kind == row.kind, "\(row.name)")
      #expect("\(statement.circle)" == row.circle && "\(statement.signer)" == row.signer, "\(row.name)")
    }
  }

  struct Purchases: Decodable {
    struct Row: Decodable {
      let name, bytes: String
      let error: String?
    }

    struct Kept: Decodable {
      let name: String
      let statements: [String]
      let kept: [Int]
    }

    let statements: [Row]
    let kept: [Kept]
  }

  @Test func `statements of purchases are decoded as in purchase md`() throws {
    for row in try vectors("purchase.json", as: Purchases.self).statements {
      let bytes = try expand(row.bytes)
      guard let error = row.error else {
        #expect(try PlainStatement(bytes).kind == 12, "\(row.name)")
        continue
      }
      let refusal = #expect(throws: PlainRefusal.self, "\(row.name)") { try PlainStatement(bytes) }
      #expect(refusal?.stage == error, "\(row.name)")
    }
  }

  @Test func `the same purchases are kept as in purchase md, in any order`() throws {
    for row in try vectors("purchase.json", as: Purchases.self).kept {
      let statements = try row.statements.map { try PlainStatement(expand($0)) }
      let kept = Set(row.kept.map { statements[$0].id })
      for order in [statements, statements.reversed()] {
        #expect(Set(statements.map(\.id)).subtracting(PlainPurchase.replaced(order)) == kept, "\(row.name)")
      }
    }
  }

  struct Judged: Decodable {
    struct Row: Decodable {
      let name, transaction: String
      let readable: Bool
    }

    let judged: [Row]
  }

  @Test func `transactions are readable as in purchase md`() throws {
    for row in try vectors("purchase.json", as: Judged.self).judged {
      let purchase = PlainPurchase(transaction: Array(row.transaction.utf8), renewal: nil)
      #expect((purchase.subscription != nil) == row.readable, "\(row.name)")
    }
  }

  @Test func `members and cuts follow from statements in any order`() throws {
    for row in try vectors("circle.json", as: Circles.self).circles {
      let statements = try row.statements.map { try PlainStatement(expand($0)) }
      for order in [statements, statements.reversed()] {
        let circle = try PlainCircle(order)
        #expect(circle.members.map { "\($0)" }.sorted() == row.members.keys.sorted(), "\(row.name)")
        for (device, member) in row.members {
          let found = try #require(Name32(try expand(device)).flatMap { circle.certified[$0] })
          #expect(found.links == member.links && found.isAdmin == (member.role == "admin"), "\(row.name)")
          #expect("\(found.certificate.transport)" == member.transport, "\(row.name)")
        }
        #expect(circle.counted.keys.map { "\($0)" }.sorted() == row.revoked, "\(row.name)")
        for log in row.logs { try check(log, circle, row.name) }
      }
    }
  }

  private func check(_ row: Circles.Circle.Log, _ circle: PlainCircle, _ name: String) throws {
    let log = PlainLog(
      device: try #require(Name32(try expand(row.device))),
      incarnation: try #require(Name16(try expand(row.incarnation))), lane: row.lane)
    #expect(circle.line(of: log, at: .zero).map { "\($0)" } == row.line, "\(name)")
    guard let cuts = circle.cuts(of: log, at: .zero) else {
      #expect(row.admission == (circle.isKnown(log.device) ? "open" : "unknown"), "\(name)")
      return
    }
    #expect(row.admission == "cut", "\(name)")
    let tips = Set(cuts).map { $0.map { "\($0)" }.sorted() }.sorted { $0.lexicographicallyPrecedes($1) }
    #expect(tips == row.cuts || tips.contains([]) && row.cuts == [[]], "\(name)")
  }

  @Test func `the gate is judged as in circle md`() throws {
    let reasons = [
      "free_tier": 2, "entitlement_expired": 3, "entitlement_not_yet_valid": 4, "entitlement_withdrawn": 2,
    ]
    for row in try vectors("circle.json", as: Circles.self).gates {
      let circle = try PlainCircle(try row.statements.map { try PlainStatement(expand($0)) })
      let device = try #require(Name32(try expand(row.device)))
      if let time = row.gateTime {
        #expect(circle.gateTime(wall: row.time, foreign: 0) == time, "\(row.name)")
      }
      let reason = circle.members.contains(device) ? circle.reason(device, at: row.time) : 2
      #expect(reason == row.reason.map { reasons[$0] ?? -1 } ?? 0, "\(row.name)")
    }
  }
}
