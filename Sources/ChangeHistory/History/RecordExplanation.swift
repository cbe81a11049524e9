public import Model

/// Where each value of a record came from.
public struct RecordExplanation: Hashable, Sendable, Codable {
  /// The record it is about.
  public let record: History.Record
  /// Its fields, one after the other.
  public let values: [Provenance]

  /// Who wrote what a field shows, and what that won against.
  public struct Provenance: Hashable, Sendable, Codable {
    /// The name of the field; `life` for whether the record is there.
    public let field: String
    /// What the field shows.
    public let written: Written
    /// Earlier values, and those that others wrote without knowing of it.
    public let wonAgainst: [Written]
  }

  /// A value, and who wrote it.
  public struct Written: Hashable, Sendable, Codable {
    /// What was written.
    public let value: ShownValue
    /// The operation that wrote it, and whose it was.
    public let author: History.Author
    /// How it lost; nil for the value that shows.
    public let how: Defeat?

    /// How a value lost.
    public enum Defeat: String, Hashable, Sendable, Codable {
      /// It was replaced by somebody who knew of it.
      case earlier
      /// It was written at the same time.
      case concurrent
    }

    private enum CodingKeys: CodingKey {
      case value
      case how
    }

    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      value = try container.decode(ShownValue.self, forKey: .value)
      author = try History.Author(from: decoder)
      how = try container.decodeIfPresent(Defeat.self, forKey: .how)
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(value, forKey: .value)
      try author.encode(to: encoder)
      if let how { try container.encode(how, forKey: .how) }
    }

    init(value: ShownValue, author: History.Author, how: Defeat?) {
      self.value = value
      self.author = author
      self.how = how
    }
  }
}
