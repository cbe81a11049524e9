package import JSONDocument

/// A record of any kind as in documents: its id, its fields by name, and the names of the records it refers to.
package struct ShownRecord: Hashable, Sendable {
  package var members: [JSON.Member]

  package init(_ members: [JSON.Member]) { self.members = members }

  /// The value of a member; nil if it is null or missing.
  package subscript(name: String) -> JSON? {
    members.first { $0.key == name }.flatMap { $0.value.isNull ? nil : $0.value }
  }

  /// The id as in documents; empty for a record that is not identified by its id.
  package var id: String { self["id"]?.string ?? "" }
}

extension ShownRecord: Codable {
  package init(from decoder: any Decoder) throws { members = try JSON(from: decoder).members ?? [] }

  package func encode(to encoder: any Encoder) throws { try JSON.object(members).encode(to: encoder) }
}

/// A record by kind, id and name, as in documents.
package struct ShownReference: Hashable, Sendable, Codable {
  package let kind: String
  package let id: String
  package let name: String?
}
