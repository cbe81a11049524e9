// Protocol/files.md, "What a device keeps"

/// Which files this device keeps. Each device has its own policy.
///
/// As text: `all`, `on-demand`, or `up-to` and a number of bytes.
public enum FileKeepPolicy: Hashable, Sendable {
  /// Every file that a record names.
  case all
  /// Only files that were asked for. They are dropped again when they have not been used for a day.
  case onDemand
  /// As many files as fit into this number of bytes. Those that were not used for the longest time are dropped first.
  case upTo(Int)

  /// Parses `all`, `on-demand` or `up-to BYTES`.
  package init?(_ text: String) {
    let words = text.split(separator: " ")
    switch (words.first, words.count) {
    case ("all", 1): self = .all
    case ("on-demand", 1): self = .onDemand
    case ("up-to", 2):
      guard let bytes = Int(words[1]), bytes >= 0 else { return nil }
      self = .upTo(bytes)
    default: return nil
    }
  }

  package var text: String {
    switch self {
    case .all: "all"
    case .onDemand: "on-demand"
    case .upTo(let bytes): "up-to \(bytes)"
    }
  }

  package var keepsAll: Bool { self == .all }
}

extension FileKeepPolicy: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let policy = Self(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "no keep policy")
    }
    self = policy
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}
