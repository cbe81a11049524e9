import Wire

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// How many files this process may have open at once.
package enum DescriptorLimit {
  /// Nil if the system does not say.
  static var current: Int? { read().map { Int(clamping: UInt64($0.rlim_cur)) } }

  /// Takes as many as the system allows, up to what a node can use.
  ///
  /// - Returns: how many there are now; nil if the system does not say.
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
