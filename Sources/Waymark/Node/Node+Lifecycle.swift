import Engine
import Replication
import Transport
import Wire

extension Node {
  /// Starts serving: listens, dials known peers, and syncs records if the gate allows it.
  ///
  /// - Parameters:
  ///   - listen: the `ADDR:PORT` to listen at; with port 0, any free port is taken.
  ///   - peers: addresses to dial in addition to the known ones.
  ///   - discovers: whether to send and receive beacons on this machine's networks.
  /// - Returns: the address at which the node listens.
  /// - Throws: `WaymarkError` with the code `address_in_use`, `address_not_here`, `closed`, or `serving` if the node is
  ///   already serving.
  @discardableResult
  public func serve(listen: String, peers: [String] = [], discovers: Bool = false) throws -> String {
    try core.checkOpen()
    if let serving = core.connections.serving {
      throw WaymarkError.failed(
        .serving, "This node is already serving, at \(serving.listening).", next: .waymark("status"))
    }
    try core.checkKeysAdmitted()
    guard let endpoint = Endpoint(listen) else {
      throw WaymarkError.badValue("listen", listen, allowed: "expected ADDR:PORT, such as [::]:7433")
    }
    let address = try core.connections.serve(at: endpoint, peers: peers, discovers: discovers)
    core.maintenance.pruneBackups()
    core.shareSchemas()
    OwnPremiumIssue(core).scheduleRenewal()
    return address
  }
}
