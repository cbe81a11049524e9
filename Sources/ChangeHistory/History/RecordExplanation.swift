public import Model

/// Where each value of a record came from.
public struct RecordExplanation: Hashable, Sendable, Codable {
  /// The record.
  public let record: History.Record
  /// Its fields.
  public let values: [Provenance]

  /// The author of the value that a field shows, and what that value won against.
  public struct Provenance: Hashable, Sendable, Codable {
    /// The name of the field; `life` for whether the record exists.
    public let field: String
    /// The value that shows.
    public let written: Written
    /// Earlier values, and those of concurrent writes.
    public let wonAgainst: [Written]
  }

  /// A value and its author.
  public struct Written: Hashable, Sendable, Codable {
    /// The value.
    public let value: ShownValue
    /// The operation that wrote it.
    public let author: History.Author
    /// Why the value does not show; nil for the one that does.
    public let how: Defeat?

    /// Why a value does not show.
    public enum Defeat: String, Hashable, Sendable, Codable {
      /// A later write, made with knowledge of it, replaced it.
      case earlier
      /// A concurrent write won.
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
