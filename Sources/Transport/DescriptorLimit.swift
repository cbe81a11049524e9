import Wire

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The limit on the number of file descriptors that this process may have open.
package enum DescriptorLimit {
  /// The current limit; nil if the system does not report it.
  static var current: Int? { read().map { Int(clamping: UInt64($0.rlim_cur)) } }

  /// Raises the limit as far as the system allows, up to what a node can use.
  ///
  /// - Returns: the limit afterwards; nil if the system does not report it.
  package static func raise() -> Int? {
    guard var limit = read() else { return nil }
    let wanted = min(limit.rlim_max, rlim_t(Limits.descriptorsUseful))
    if limit.rlim_cur < wanted {
      limit.rlim_cur = wanted
      #if canImport(Darwin)
        setrlimit(RLIMIT_NOFILE, &limit)
      #else
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      #endif
    }
    return current
  }

  private static func read() -> rlimit? {
    var limit = rlimit()
    #if canImport(Darwin)
      guard getrlimit(RLIMIT_NOFILE, &limit) == 0 else { return nil }
    #else
      guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
    #endif
    return limit
  }
}
