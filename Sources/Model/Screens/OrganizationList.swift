public import Foundation
import Records
import Replication
import Storage

/// All organizations in the order of a picker: None first, then by name, whatever the case.
///
/// One list serves the picker and the names beside items: read or watch ``LiveQuery/organizations`` once and look up the
/// rest here.
public struct OrganizationList: Equatable, Sendable {
  /// None first; never empty.
  public let all: [Organization]

  /// - Parameter organizations: in the order of lists.
  init(_ organizations: [RecordRow]) {
    all = organizations.map { Organization($0) }
  }

  /// Those whose name contains a text, whatever the case, in the same order; all if the text is empty.
  public func matching(_ text: String) -> [Organization] {
    let text = text.lowercased()
    return text.isEmpty ? all : all.filter { $0.name.lowercased().contains(text) }
  }

  /// The organization that an item's id stands for: None for nil, and for one that is not there any more.
  public subscript(id: Organization.ID?) -> Organization {
    all.first { $0.id == id } ?? all.first { $0.id == Organization.none }
      ?? Organization(id: Organization.none)
  }
}

extension Store {
  /// All organizations in the order of a picker.
  package func organizations() throws -> OrganizationList {
    OrganizationList(try records(RecordQuery(listing: Organization.kind)))
  }
}
