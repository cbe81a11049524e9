public import Platform
public import Wire

/// An operation, with its device and time.
public struct OperationReference: Hashable, Sendable, Codable, Identifiable {
  public let id: OperationID
  /// The name of the action, such as `trip.edit`.
  public let verb: String
  /// The time of the action, by the acting device's clock.
  public let time: Date
  /// The device that performed the action.
  public let device: DeviceKey
  /// The name of that device, as shown on this device.
  public let deviceName: String
  /// Whether that device is this device.
  public let isOwn: Bool

  private enum CodingKeys: String, CodingKey {
    case id
    case verb
    case time
    case device
    case deviceName
    case isOwn = "own"
  }
}
