import Membership
import Replication
import Sodium
import Storage
package import Wire

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

extension Node {
  /// Makes a new circle with this device as its founder.
  ///
  /// - Parameter issuers: public keys whose entitlements the circle accepts from the start; at most two.
  package static func initialize(
    home: Home, name: String, issuers: [DeviceKey] = [], wall: Int64 = systemWall()
  ) throws -> NewMembership {
    let founding = try Founding(name: name, issuers: issuers, now: wall)
    let aside = try founding.write(to: home)
    return NewMembership(
      circle: founding.genesis.circle, device: founding.identity.device, name: name, keysAside: aside)
  }

  static func saveRoot(_ root: SigningKey, to path: String) throws {
    var secrets = try SecretBuffer(capacity: KeyPurpose.root.secretBytes)
    root.exportSeed(to: &secrets)
    try KeyFile.create(secrets, .root, at: path)
  }

  /// Makes the store of a device that has its keys, with a fresh incarnation.
  ///
  /// - Parameter isLocked: whether the caller has the lock of the home.
  static func makeStore(_ home: Home, _ statements: [Statement], isLocked: Bool = false) throws {
    let store = try Store(path: home.store, isLocked: isLocked)
    home.protectStore()
    try fill(store, statements)
  }

  /// Puts into a new store what a device begins with.
  static func fill(_ store: Store, _ statements: [Statement]) throws {
    try store.saveStatements(statements.map { ($0.id, $0.bytes) })
    try store.setMeta(MetaKey.incarnation, Incarnation(random16()).bytes)
  }
}

/// Milliseconds since 1970 on this machine's clock.
package func systemWall() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_REALTIME, &time)
  return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000 + clockAhead
}

#if DEBUG
  /// Debug builds only, for tests of a wrong clock: seconds in `WAYMARK_CLOCK_AHEAD`, or in a file that
  /// `WAYMARK_CLOCK_FILE` names and that may change at any time.
  private var clockAhead: Int64 {
    guard clockFile >= 0 else { return clockAheadAtStart }
    var text = [UInt8](repeating: 0, count: 24)
    let count = max(0, pread(clockFile, &text, text.count, 0))
    return milliseconds(String(decoding: text.prefix(count).prefix { $0 != 0x0a }, as: UTF8.self))
  }

  private let clockFile: Int32 = getenv("WAYMARK_CLOCK_FILE").map { open($0, O_RDONLY | O_CLOEXEC) } ?? -1

  private let clockAheadAtStart = getenv("WAYMARK_CLOCK_AHEAD").map { milliseconds(String(cString: $0)) } ?? 0

  private func milliseconds(_ seconds: String) -> Int64 {
    (Int64(seconds) ?? 0).multipliedReportingOverflow(by: 1_000).partialValue
  }
#else
  private let clockAhead: Int64 = 0
#endif

/// Sixteen bytes that nobody has had before.
package func random16() -> Bytes16 {
  var random = SecureRandom()
  return Bytes16(random.next(), random.next())
}

/// Decides jitter; nothing secret.
func randomSeed() -> UInt64 {
  var random = SecureRandom()
  return random.next()
}
