import Engine
import Replication
import Transport
import Wire

extension Node {
  /// Begins to serve: listens, dials the peers it knows, and lets the records lane flow as the gate allows.
  ///
  /// - Parameters:
  ///   - listen: `ADDR:PORT`; port 0 takes any free one.
  ///   - peers: addresses to dial besides those that are known.
  ///   - discovers: whether to look for peers on the networks that this machine is on, and to be found there.
  /// - Returns: the address in use.
  /// - Throws: `WaymarkError` with the code `address_in_use`, `address_not_here`, `serving` if it does already, `closed`.
  @discardableResult
  public func serve(listen: String, peers: [String] = [], discovers: Bool = false) throws -> String {
    try checkOpen()
    if let serving = connections.serving {
      throw WaymarkError.failed(
        .serving, "This node serves already, at \(serving.listening).", next: .waymark("status"))
    }
    try checkKeysAdmitted()
    guard let endpoint = Endpoint(listen) else {
      throw WaymarkError.badValue("listen", listen, allowed: "an address and a port, as [::]:7433")
    }
    let address = try connections.serve(at: endpoint, peers: peers, discovers: discovers)
    maintenance.pruneBackups()
    return address
  }

  package var isServing: Bool { connections.serving != nil }

  /// - Throws: `WaymarkError` with the code `not_running` unless the node serves.
  package func checkServing() throws {
    try checkOpen()
    guard isServing else { throw WaymarkError.notServing }
  }

  /// Dials every peer that is not connected, without waiting for its turn.
  package func hurry() {
    guard replicator.isOpen, isServing else { return }
    connections.handle(.hurried)
  }
}

extension WaymarkError {
  static let notServing = WaymarkError(
    exitCode: ExitCode.notRunning, code: .notRunning, message: "The node does not run.",
    next: .waymark("run"))
}
