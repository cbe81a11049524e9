public import Foundation
import Records
import Replication
import Storage

/// All organizations in picker order: None first, then by name regardless of case.
///
/// One list serves both the picker and the names next to items: read or watch ``LiveQuery/organizations`` once, and
/// look up the rest here.
public struct OrganizationList: Equatable, Sendable {
  /// None first; never empty.
  public let all: [Organization]

  /// - Parameter organizations: in list order.
  init(_ organizations: [RecordRow]) {
    all = organizations.map { Organization($0) }
  }

  /// Organizations whose name contains a text, regardless of case, in the same order; all if the text is empty.
  public func matching(_ text: String) -> [Organization] {
    let text = text.lowercased()
    return text.isEmpty ? all : all.filter { $0.name.lowercased().contains(text) }
  }

  /// The organization with an item's id: None for nil, and for one that no longer exists.
  public subscript(id: Organization.ID?) -> Organization {
    all.first { $0.id == id } ?? all.first { $0.id == Organization.none }
      ?? Organization(id: Organization.none)
  }
}

extension Store {
  /// All organizations in picker order.
  package func organizations() throws -> OrganizationList {
    OrganizationList(try records(RecordQuery(listing: Organization.kind)))
  }
}
