import Platform
import Wire

/// The limit on the number of file descriptors that this process may have open.
package enum DescriptorLimit {
  /// The current limit; nil if the system does not report it.
  static var current: Int? { LimitedResource.openFiles.limits.map { Int(clamping: $0.current) } }

  /// Raises the limit as far as the system allows, up to what a node can use.
  ///
  /// - Returns: the limit afterwards; nil if the system does not report it.
  package static func raise() -> Int? {
    guard let limits = LimitedResource.openFiles.limits else { return nil }
    let wanted = min(limits.highest, UInt64(Limits.descriptorsUseful))
    if limits.current < wanted {
      LimitedResource.openFiles.setLimits(current: wanted, highest: limits.highest)
    }
    return current
  }
}
