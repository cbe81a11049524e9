import Membership
import Storage
import Wire

/// What people call the devices of a circle: names given on this device, else those in their certificates.
struct DeviceNames {
  let given: [DeviceKey: String]
  let circle: Circle

  func name(of device: DeviceKey) -> String {
    given[device] ?? circle.evaluation.known(device)?.name ?? String(device.description.prefix(8))
  }

  /// A device, or the root key.
  func signer(_ key: DeviceKey) -> String { key == circle.genesis.root ? "the root key" : name(of: key) }

  /// `records 3 of phone, settings 1 of laptop`, and how many more.
  func list(_ sets: [DamagedSet]) -> String {
    let named = sets.prefix(Self.setsListedMax).map {
      "\($0.log.lane) \($0.sequence) of \(name(of: $0.log.device))"
    }
    let more = sets.count - named.count
    return named.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
  }

  private static let setsListedMax = 3
}
