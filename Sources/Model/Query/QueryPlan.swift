import Home
import Reasons
import Records
import Replication
import Storage

/// What a query selects and in which order, regardless of the type of its records.
struct QueryPlan: Hashable, Sendable {
  let kind: Kind
  var terms: [QueryTerm] = []
  /// The sort order; nil for the list order.
  var order: [RecordQuery.Order]?
  /// The kinds of the records by whose properties the records are sorted.
  var orderKinds: Set<Kind> = []
  var cursor: RecordQuery.Cursor?
  /// The first use of a property that the query can't be run with; nil if there is none.
  var unusable: UnusableProperty?
  var limit: Int?
  var offset = 0

  /// The number of words of a text that are searched.
  static let wordsMax = 64

  init(_ kind: Kind) { self.kind = kind }

  /// Returns the query in the form that the store runs.
  ///
  /// - Throws: ``WaymarkError`` for a key path that is not a stored property.
  func stored(_ now: Moment) throws -> RecordQuery {
    if let unusable { throw unusable.error }
    var query = RecordQuery(listing: kind)
    query.conditions = try terms.map { try $0.condition(now) }
    if let order { query.order = order }
    query.cursor = cursor
    query.limit = limit
    query.offset = offset
    return query
  }

  /// The kinds of all records on which the result depends.
  var kinds: Set<Kind> {
    // In list order, a trip without a start of its own comes where its first item does.
    let sorting = order == nil && kind == Kind.trip ? Set(Kind.owners) : orderKinds
    return terms.reduce(sorting.union([kind])) { $0.union($1.kinds) }
  }

  /// All comparisons with the present time in the conditions of the query.
  var comparisons: [TimeComparison] { terms.flatMap { $0.comparisons(kind) } }
}

/// A comparison of a component of the records of a kind with the present time.
struct TimeComparison {
  let kind: Kind
  let part: RecordQuery.Part
  let test: NowTest
}

/// A condition of a query. The value of `now` is filled in when the query is run.
indirect enum QueryTerm: Hashable, Sendable {
  case fixed(RecordQuery.Condition)
  case now(RecordQuery.Part, NowTest)
  case refers(RecordQuery.Part, QueryPlan)
  case isReferenced(QueryPlan, RecordQuery.Part)
  case all([QueryTerm])
  case any([QueryTerm])
  case not(QueryTerm)
  case unusable(UnusableProperty)

  /// - Throws: ``WaymarkError`` for a property that can't be used.
  func condition(_ now: Moment) throws -> RecordQuery.Condition {
    switch self {
    case .fixed(let condition): condition
    case .now(let part, let test): .part(part, test.test(now))
    case .refers(let part, let plan): .refers(part, try plan.stored(now))
    case .isReferenced(let plan, let part): .isReferenced(try plan.stored(now), part)
    case .all(let terms): .all(try terms.map { try $0.condition(now) })
    case .any(let terms): .any(try terms.map { try $0.condition(now) })
    case .not(let term): .not(try term.condition(now))
    case .unusable(let property): throw property.error
    }
  }

  /// The kinds of other records on which the condition depends.
  var kinds: Set<Kind> {
    switch self {
    case .refers(_, let plan), .isReferenced(let plan, _): plan.kinds
    case .all(let terms), .any(let terms): terms.reduce(into: []) { $0.formUnion($1.kinds) }
    case .not(let term): term.kinds
    case .fixed, .now, .unusable: []
    }
  }

  /// All comparisons with the present time in this condition on records of a kind.
  func comparisons(_ kind: Kind) -> [TimeComparison] {
    switch self {
    case .now(let part, let test): [TimeComparison(kind: kind, part: part, test: test)]
    case .refers(_, let plan), .isReferenced(let plan, _): plan.comparisons
    case .all(let terms), .any(let terms): terms.flatMap { $0.comparisons(kind) }
    case .not(let term): term.comparisons(kind)
    case .fixed, .unusable: []
    }
  }
}

/// A property with which a query can't be run, although its key path compiles.
enum UnusableProperty: Hashable, Sendable {
  /// The property is not a stored property.
  case notStored(String)
  /// The property does not refer to records of this kind.
  case notReference(String, kind: String)

  var error: WaymarkError {
    switch self {
    case .notStored(let property):
      .failed(
        .unsupportedProperty,
        "Can't use \(property) in a query: it is not a stored property of the record.",
        next: "use a stored property, such as \\.name, or filter and sort the result in Swift")
    case .notReference(let property, let kind):
      .failed(
        .unsupportedProperty, "\(property) does not refer to records of the kind \(kind).",
        next: "use the property that holds the id of such a record")
    }
  }
}
