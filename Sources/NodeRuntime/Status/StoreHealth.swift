import Engine
import Home
public import Reasons

/// Whether a node's store can be written and trusted.
public enum StoreHealth: Hashable, Sendable {
  /// The store works.
  case good
  /// The disk is full. Reading works; nothing is saved, and nothing is received, until there is free space.
  case full
  /// The disk failed, and whether the last change was saved is unknown. Calls fail with this error. Close the node, or end
  /// the process; the next opening verifies the whole store.
  case failed(WaymarkError)

  package init(of core: NodeCore) {
    if let failure = core.maintenance.failure {
      self = .failed(failure)
    } else {
      self = core.replicator.disk.isFull ? .full : .good
    }
  }
}
