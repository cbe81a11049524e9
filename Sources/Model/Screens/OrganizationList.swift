import Records
import Replication
import Storage

/// All organizations in the order of a picker: None first, then the others by name, regardless of case.
///
/// One list serves both the picker and the names that are shown with items: read or watch ``LiveQuery/organizations``
/// once, and look up the organization of each item in the list.
public struct OrganizationList: Equatable, Sendable, Codable {
  /// All organizations, beginning with None; never empty.
  public let all: [Organization]

  /// - Parameter organizations: the rows of all organizations, in list order.
  init(_ organizations: [RecordRow]) {
    all = organizations.map { Organization($0) }
  }

  /// Returns the organizations whose name contains a text, regardless of case and accents and in the same order; all
  /// organizations if the text is empty.
  public func matching(_ text: String) -> [Organization] {
    let text = FoldedText.of(text)
    return all.filter { FoldedText.contains($0.name, text) }
  }

  /// Returns the organization that an item refers to by this id. It is None if the id is nil or the organization no
  /// longer exists.
  public subscript(id: Organization.ID?) -> Organization {
    all.first { $0.id == id } ?? all.first { $0.id == Organization.noneID }
      ?? Organization(id: Organization.noneID)
  }
}

extension RecordSource {
  /// Returns all organizations in the order of a picker.
  package func organizations() throws -> OrganizationList {
    OrganizationList(try records(RecordQuery(listing: Organization.kind)))
  }
}
