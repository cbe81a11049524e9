import Records
import Replication
import Testing
import Wire

@testable import Exchange

/// Which records an export holds, and in which order.
struct ExportSourceTests {
  private func id(_ number: UInt64) -> RecordID { RecordID(Bytes16(0, number)) }

  private func draft(_ kind: Kind, _ number: UInt64, _ values: [(String, Value)]) -> RecordDraft {
    RecordDraft(kind, id(number), Dictionary(uniqueKeysWithValues: values.map { (kind.number($0.0), $0.1) }))
  }

  @Test func `an export of one trip has no attachments of other trips`() {
    var records: [RecordDraft] = []
    for trip: UInt64 in [1, 2] {
      let (lodging, attachment) = (10 + trip, 20 + trip)
      records.append(draft(Kind.trip, trip, [("name", .text("Trip \(trip)"))]))
      records.append(draft(Kind.lodging, lodging, [("trip", .bytes(id(trip).bytes))]))
      let parent = Value.array([.integer(Int64(Kind.lodging.number.rawValue)), .bytes(id(lodging).bytes)])
      records.append(draft(Kind.attachment, attachment, [("parent", parent)]))
    }
    let part = ExportSource(records).only(trip: id(1))
    #expect(part.records(Kind.attachment).map(\.id) == [id(21)])
    #expect(part.records(Kind.lodging).map(\.id) == [id(11)])
  }

  @Test func `an export of one trip has the organizations of its legs, and their addresses`() {
    let records = [
      draft(Kind.trip, 1, [("name", .text("Rome"))]),
      draft(Kind.transportation, 2, [("trip", .bytes(id(1).bytes))]),
      draft(
        Kind.leg, 3, [("transportationID", .bytes(id(2).bytes)), ("organizationId", .bytes(id(4).bytes))]),
      draft(Kind.organization, 4, [("name", .text("Alpha Air")), ("address", .bytes(id(5).bytes))]),
      draft(Kind.address, 5, [("city", .text("Roma"))]),
      draft(Kind.organization, 6, [("name", .text("Beta Rail"))]),
    ]
    let part = ExportSource(records).only(trip: id(1))
    #expect(part.records(Kind.organization).map(\.id) == [id(4)])
    #expect(part.records(Kind.address).map(\.id) == [id(5)])
  }

  @Test func `legs are in the order that was chosen, and by departure where none was`() {
    let given: [(number: UInt64, index: Int64?, departure: Int64)] = [
      (1, 2, 10), (2, 1, 30), (3, nil, 40), (4, nil, 20),
    ]
    let legs = given.map { number, index, departure in
      let time = Value.array([.integer(departure), .null])
      let values = [("departure", time)] + (index.map { [("sortIndex", Value.integer($0))] } ?? [])
      return draft(Kind.leg, number, values)
    }
    #expect(ExportSource(legs).legs.map(\.id) == [id(2), id(1), id(4), id(3)])
  }
}
