import Home
public import Reasons
import Replication
import Storage
public import Wire

/// An address that this device dials because the user gave it, with `peers add`, `--peer` or the configuration.
public struct AddedAddress: Hashable, Sendable, Codable {
  /// The address, `ADDR:PORT`.
  public let address: String
  /// Whether the address was added with ``Node/addPeer(at:)``, and so can be removed with ``Node/removePeer(at:)``.
  public let isSaved: Bool
  /// The device that has answered at the address; nil if none has.
  public let device: DeviceKey?
  /// The name of that device.
  public let name: String?
  /// Why the last attempt failed; nil if it did not fail, or if there was none.
  public let failure: Reason?

  private enum CodingKeys: String, CodingKey {
    case address
    case isSaved = "saved"
    case device
    case name
    case failure = "reason"
  }
}

extension NodeInspection {
  /// Returns the addresses that the user gave, in the order in which they were given.
  func addedAddresses() throws -> [AddedAddress] {
    let saved = try store.metaLines(MetaKey.addresses)
    let given = saved + (connections.serving?.givenAddresses ?? []).filter { !saved.contains($0) }
    let entries = connections.peering.addresses
    return given.map { address in
      let entry = entries.first { $0.address == address }
      return AddedAddress(
        address: address, isSaved: saved.contains(address), device: entry?.device,
        name: entry?.device.map(connections.name(of:)), failure: entry?.lastFailure.map(Reason.init))
    }
  }
}

extension Reason {
  fileprivate init(_ failure: DialFailure) {
    self =
      switch failure {
      case .refused: .dialRefused
      case .timeout: .dialTimeout
      case .noRoute, .unresolved: .noRoute
      case .notAMember: .notAMember
      case .turnedAway: .turnedAway
      case .newerProtocol: .newerProtocol
      case .other: .offline
      }
  }
}
