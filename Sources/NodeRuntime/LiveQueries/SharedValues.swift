package import Replication

/// What makes two live queries equal: the name, the type of the value, and the parameters.
package struct QueryIdentity: Hashable, Sendable {
  private let name: String
  private let value: ObjectIdentifier
  private let parameters: [any Hashable & Sendable]

  package init<Value>(_ name: String, _ type: Value.Type, _ parameters: [any Hashable & Sendable]) {
    self.name = name
    value = ObjectIdentifier(type)
    self.parameters = parameters
  }

  package static func == (left: Self, right: Self) -> Bool {
    left.name == right.name && left.value == right.value
      && left.parameters.map(erased) == right.parameters.map(erased)
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(name)
    hasher.combine(value)
    for parameter in parameters { hasher.combine(erased(parameter)) }
  }
}

private func erased(_ parameter: any Hashable & Sendable) -> AnyHashable { AnyHashable(parameter) }

/// The newest value of each live query that someone watches, so that equal watchers read once.
///
/// A value is kept only while a watcher of its query waits for the next one. Each of these watchers holds the value
/// itself, so sharing it costs no memory.
package struct SharedValues {
  private var entries: [QueryIdentity: Entry] = [:]
  /// How often the clock or the time zone was set.
  package private(set) var clockSettings = 0

  private struct Entry {
    var watchers = 0
    var value: Value?
  }

  /// A value, the revision at which it was read, and when the passing of time may change it.
  package struct Value: Sendable {
    package let value: any Sendable
    package let revision: UInt64
    package let due: Moment?
    /// The `clockSettings` at which it was read.
    package let clockSettings: Int

    package init(_ value: any Sendable, revision: UInt64, due: Moment?, clockSettings: Int) {
      (self.value, self.revision, self.due, self.clockSettings) = (value, revision, due, clockSettings)
    }
  }

  /// The number of queries with a watcher that waits for the next value.
  package var count: Int { entries.count }

  /// Begins a watcher's wait for the next value.
  ///
  /// - Parameter seen: the value that the watcher has.
  package mutating func enter(_ query: QueryIdentity, _ seen: Value?) {
    entries[query, default: Entry()].watchers += 1
    if let seen { add(seen, of: query) }
  }

  /// Ends it; the last watcher of a query takes the value with it.
  package mutating func leave(_ query: QueryIdentity) {
    guard var entry = entries[query] else { return }
    entry.watchers -= 1
    entries[query] = entry.watchers == 0 ? nil : entry
  }

  /// Adds a value, unless a newer one is known, or it depends on the time and the clock was set since.
  package mutating func add(_ value: Value, of query: QueryIdentity) {
    guard value.due == nil || value.clockSettings == clockSettings else { return }
    guard let known = entries[query]?.value, known.revision > value.revision else {
      entries[query]?.value = value
      return
    }
  }

  /// The newest value of a query, which may be outdated.
  package subscript(query: QueryIdentity) -> Value? { entries[query]?.value }

  /// Forgets the values that depend on the time, because the clock or the time zone was changed.
  mutating func clockWasSet() {
    clockSettings += 1
    for (query, entry) in entries where entry.value?.due != nil { entries[query]?.value = nil }
  }
}
