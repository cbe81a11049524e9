import Platform
import Home
import Reasons
import Records
import Replication
package import Storage
import Wire

extension RecordSource {
  /// Returns the records that a query selects, and notes in `time` when the result may change as time passes.
  package func records<Owner>(_ query: Query<Owner>, _ time: inout EvaluationTime) throws -> [Owner] {
    try query.kinds.forEach(checkKnown)
    var found: [Owner] = []
    try forEach(try query.plan.stored(time.now)) { found.append(Owner($0)) }
    try noteComparisons(of: query, &time)
    return found
  }

  /// Returns the number of records that a query selects, and notes in `time` when the number may change as time
  /// passes.
  package func count<Owner>(_ query: Query<Owner>, _ time: inout EvaluationTime) throws -> Int {
    try query.kinds.forEach(checkKnown)
    try noteComparisons(of: query, &time)
    return try count(try query.plan.stored(time.now))
  }

  /// Returns the record with an id; nil if it is not visible.
  package func record<Owner>(_ id: Identifier<Owner>) throws -> Owner? {
    try checkKnown(Owner.kind)
    return try visible(Owner.kind, RecordID(id)).map { Owner($0) }
  }

  /// - Throws: ``WaymarkError`` if the store does not know a kind, or knows another one with its number.
  func checkKnown(_ kind: Kind) throws {
    guard schema.kind(kind.number)?.name == kind.name else { throw WaymarkError.unknownKind(kind) }
  }

  /// Notes in `time` when the clock will reach the next value of each property that the query compares with the
  /// present time.
  func noteComparisons<Owner>(of query: Query<Owner>, _ time: inout EvaluationTime) throws {
    for comparison in query.plan.comparisons {
      let (part, test) = (comparison.part, comparison.test)
      var next = RecordQuery(comparison.kind.number)
      let reached = time.now - test.delay
      next.conditions = [.part(part, .above(.integer(reached)))]
      next.order = [.ascending(part.field, part: part.index)]
      next.limit = 1
      try forEach(next) { row in
        let field = row.fields[part.field] ?? .null
        let value: Wire.Value = if case .array = field { field.part(part.index) } else { field }
        guard let moment = value.asInteger, moment < .max else { return }
        time.changes(at: moment + test.delay)
      }
    }
  }
}
