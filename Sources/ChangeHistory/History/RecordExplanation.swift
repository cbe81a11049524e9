public import Model

/// Where each value of a record came from.
public struct RecordExplanation: Hashable, Sendable, Codable {
  /// The record.
  public let record: History.Record
  /// The values of the record's fields, with their origins.
  public let values: [Provenance]

  /// The author of the displayed value of a field, and the values that it won against.
  public struct Provenance: Hashable, Sendable, Codable {
    /// The name of the field. The field `life` says whether the record exists.
    public let field: String
    /// The displayed value.
    public let written: Written
    /// The values that lost: earlier ones, and those of concurrent writes.
    public let wonAgainst: [Written]
  }

  /// A value and its author.
  public struct Written: Hashable, Sendable, Codable {
    /// The value.
    public let value: ShownValue
    /// The operation that wrote the value.
    public let author: OperationReference
    /// Why the value is not displayed; nil for the displayed value.
    public let how: Defeat?
    /// Whether the value was erased.
    public let isErased: Bool

    /// Why a value is not displayed.
    public enum Defeat: String, Hashable, Sendable, Codable {
      /// A later write, whose author had seen this value, replaced it.
      case earlier
      /// A concurrent write won over it.
      case concurrent
    }

    private enum CodingKeys: String, CodingKey {
      case value
      case how
      case isErased = "erased"
    }

    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      value = try container.decode(ShownValue.self, forKey: .value)
      author = try OperationReference(from: decoder)
      how = try container.decodeIfPresent(Defeat.self, forKey: .how)
      isErased = try container.decodeIfPresent(Bool.self, forKey: .isErased) ?? false
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(value, forKey: .value)
      try author.encode(to: encoder)
      if let how { try container.encode(how, forKey: .how) }
      if isErased { try container.encode(true, forKey: .isErased) }
    }

    init(value: ShownValue, author: OperationReference, how: Defeat?, isErased: Bool) {
      self.value = value
      self.author = author
      self.how = how
      self.isErased = isErased
    }
  }
}
