package import JSONDocument

/// A record of any kind in the form that JSON documents use: its id, its fields by name, and the names of the records
/// that it refers to.
package struct ShownRecord: Hashable, Sendable {
  package var members: [JSON.Member]

  package init(_ members: [JSON.Member]) { self.members = members }

  /// Returns the value of a member; nil if the member is null or missing.
  package subscript(name: String) -> JSON? {
    members.first { $0.key == name }.flatMap { $0.value.isNull ? nil : $0.value }
  }

  /// The id as written in the document; empty for a record that is shown without an id, such as the profile.
  package var id: String { self["id"]?.string ?? "" }
  /// The short form of the id; nil for a record that is not shown in a list.
  package var shortID: String? { self["shortId"]?.string }
}

extension ShownRecord: Codable {
  package init(from decoder: any Decoder) throws { members = try JSON(from: decoder).members ?? [] }

  package func encode(to encoder: any Encoder) throws { try JSON.object(members).encode(to: encoder) }
}

/// A reference to a record by its kind, id and name, in the form that JSON documents use.
package struct ShownReference: Hashable, Sendable, Codable {
  package let kind: String
  package let id: String
  package let name: String?
}
