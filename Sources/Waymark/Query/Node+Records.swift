public import Foundation
import Records
import Replication
import Storage

extension Node {
  /// The records that a query asks for.
  ///
  /// - Throws: ``WaymarkError`` if the store can't be read, and with the code `unsupported_property` if a key path of
  ///   the query is not a stored property.
  public func records<Owner>(_ query: Query<Owner>) throws -> [Owner] { try read(.records(query)) }

  /// The record with an id; nil if people can't see one.
  public func record<Owner: Record>(_ type: Owner.Type, _ id: UUID) throws -> Owner? {
    try read(.record(type, id))
  }

  /// How many records a query asks for.
  public func count<Owner>(_ query: Query<Owner>) throws -> Int { try read(.count(query)) }

  /// The records of a query, now and again after each change that concerns them, and when the time reaches a date that
  /// the query compares with ``QueryTime/now``.
  ///
  /// ```swift
  /// for await trips in node.watch(Trip.all.sorted(by: \.startDate)) { show(trips) }
  /// ```
  public nonisolated func watch<Owner>(_ query: Query<Owner>) -> Watch<[Owner]> { watch(.records(query)) }

  /// The person's profile; without a name until somebody has given one.
  public func profile() throws -> Profile { try read(.profile) }
}

extension Reading {
  /// The records that a query asks for.
  public static func records<Owner>(_ query: Query<Owner>) -> Reading where Value == [Owner] {
    Reading(.records, [.kind(Owner.kind.number)]) { node, time in
      var found: [Owner] = []
      try node.forEach(query, &time) { found.append($0) }
      return found
    }
  }

  /// The record with an id; nil if people can't see one.
  public static func record<Owner: Record>(_ type: Owner.Type, _ id: UUID) -> Reading where Value == Owner? {
    Reading(.record, [.kind(Owner.kind.number)]) { node, _ in
      try node.store.visible(Owner.kind, RecordID(id)).map { Owner($0) }
    }
  }

  /// How many records a query asks for.
  public static func count<Owner>(_ query: Query<Owner>) -> Reading where Value == Int {
    Reading(.count, [.kind(Owner.kind.number)]) { try $0.count(query, &$1) }
  }
}

extension Reading<Profile> {
  /// The person's profile; without a name until somebody has given one.
  public static var profile: Reading {
    Reading(.profile, [.kind(Registry.profile.number)]) { node, _ in Profile(try node.store.heldProfile()) }
  }
}
