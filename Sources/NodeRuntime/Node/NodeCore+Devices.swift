package import ChangeHistory
import Engine
import Enrolment
import Home
package import Membership
package import Model
package import Reasons
import Replication
import Transport
package import Wire

extension NodeCore {
  // MARK: Devices and records by name

  /// Returns the name under which this device shows the given device.
  package func name(of device: DeviceKey) -> String { connections.name(of: device) }

  /// Finds a peer by a unique prefix of its id, or by its name.
  package func peer(named name: String) throws -> Member {
    try connections.names.peer(named: name, besides: identity.device)
  }

  /// Finds a member by name or by a prefix of its id, including this device.
  package func member(named name: String) throws -> Member {
    if let own = circle.evaluation.members[identity.device],
      [own.name, own.device.description].contains(name)
    {
      return own
    }
    return try peer(named: name)
  }

  /// Finds records by the names that people type.
  package var names: NameResolver { NameResolver(store: store) }

  /// Reads the history, the conflicts and the origin of values.
  package var historyReader: HistoryReader { inspection().history }

  // MARK: Serving

  /// The number of connected peers, and the number of all other devices of the circle.
  package var company: (connected: Int, others: Int) {
    let others = connections.others
    return (others.count { replica.session(with: $0) != nil }, others.count)
  }

  /// Whether the node listens and dials.
  package var isServing: Bool { connections.serving != nil }

  /// Checks that the node is open and serves.
  ///
  /// - Throws: `WaymarkError` with the code `not_running` unless the node serves.
  package func checkServing() throws {
    try checkOpen()
    guard isServing else { throw WaymarkError.notServing }
  }

  /// Dials all disconnected peers now instead of at their next scheduled attempt.
  package func hurry() {
    guard replicator.isOpen, isServing else { return }
    connections.handle(.hurried)
  }
}

extension WaymarkError {
  package static let noOtherDevice = WaymarkError(
    exitCode: ExitCode.notRunning, code: .onlyDevice, message: "There is no other device in the circle yet.",
    next: .waymark("invite"))

  package static let notServing = WaymarkError(
    exitCode: ExitCode.notRunning, code: .notRunning, message: "The node is not running.",
    next: .waymark("run"))
}
