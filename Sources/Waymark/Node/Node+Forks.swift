import Membership
import Replication
import Storage
import Wire

extension Node {
  /// Forks whose author has not written a log of its own since: until then it may not know.
  func forkNotices() -> [NodeStatus.Notice] {
    let devices = Set(circle.evaluation.forkProofs.map(\.log).filter { !store.hasLeft($0) }.map(\.device))
    return devices.sorted().map { device in
      NodeStatus.Notice(
        .fork,
        text:
          "two copies of \(name(of: device))'s data have written at the same time; both writings are kept",
        next: "use only one copy of that device's data directory; join anew for another device")
    }
  }
}
