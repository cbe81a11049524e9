package import Storage
public import Wire

/// Where the bytes of a file are, as far as this device knows.
///
/// What other devices have is what they said when they were last connected. A device that is offline may have dropped
/// the file since.
public enum FileState: Hashable, Sendable {
  /// The whole file is on this device.
  case here
  /// Some of it has arrived: the number of bytes, the size of the file, and the connected devices that it comes from. If
  /// none of them is connected, the devices that are known to have it.
  case partly(received: Int, size: Int, from: [DeviceReference])
  /// The file is on these other devices.
  case elsewhere(on: [DeviceReference])
  /// No device is known to have the file.
  case nowhere

  /// Whether the whole file is on this device.
  public var isHere: Bool { self == .here }

  package init(_ location: FileLocation, size: Int, name: (DeviceKey) -> String) {
    func named(_ devices: [DeviceKey]) -> [DeviceReference] {
      devices.map { DeviceReference(device: $0, name: name($0)) }.sorted {
        ($0.name, $0.device) < ($1.name, $1.device)
      }
    }
    let holders = named(Set(location.holders).union(location.sources).sorted())
    if location.isHere {
      self = .here
    } else if location.receivedBytes > 0 {
      let sources = named(location.sources)
      self = .partly(received: location.receivedBytes, size: size, from: sources.isEmpty ? holders : sources)
    } else {
      self = holders.isEmpty ? .nowhere : .elsewhere(on: holders)
    }
  }
}

extension FileState: Codable {
  private enum CodingKeys: CodingKey {
    case state
    case received
    case size
    case from
    case on
  }

  private enum Name: String, Codable {
    case here
    case partly
    case elsewhere
    case nowhere
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    switch try container.decode(Name.self, forKey: .state) {
    case .here: self = .here
    case .partly:
      self = .partly(
        received: try container.decode(Int.self, forKey: .received),
        size: try container.decode(Int.self, forKey: .size),
        from: try container.decode([DeviceReference].self, forKey: .from))
    case .elsewhere: self = .elsewhere(on: try container.decode([DeviceReference].self, forKey: .on))
    case .nowhere: self = .nowhere
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .here: try container.encode(Name.here, forKey: .state)
    case .partly(let received, let size, let sources):
      try container.encode(Name.partly, forKey: .state)
      try container.encode(received, forKey: .received)
      try container.encode(size, forKey: .size)
      try container.encode(sources, forKey: .from)
    case .elsewhere(let devices):
      try container.encode(Name.elsewhere, forKey: .state)
      try container.encode(devices, forKey: .on)
    case .nowhere: try container.encode(Name.nowhere, forKey: .state)
    }
  }

  /// The members of the encoded state, for a record's document.
  var parts: [ShownValue.Part] {
    func list(_ devices: [DeviceReference]) -> ShownValue {
      .list(
        devices.map {
          .parts([.init("device", .text($0.device.description)), .init("name", .text($0.name))])
        })
    }
    switch self {
    case .here: return [.init("state", .text("here"))]
    case .partly(let received, let size, let sources):
      return [
        .init("state", .text("partly")), .init("received", .integer(Int64(received))),
        .init("size", .integer(Int64(size))), .init("from", list(sources)),
      ]
    case .elsewhere(let devices): return [.init("state", .text("elsewhere")), .init("on", list(devices))]
    case .nowhere: return [.init("state", .text("nowhere"))]
    }
  }
}
