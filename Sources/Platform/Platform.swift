// All differences between the operating systems are in this file: conditions on a platform, and the system's C library
// and Foundation, which the other modules get by importing this one.
//
// On Linux that is only FoundationEssentials. The rest of Foundation would add 40 MB of language data to the program.
//
// The parts for Apple platforms are based on Apple's headers. They have been neither compiled nor run.

import CPlatform
import Dispatch

#if canImport(Darwin)
  @_exported public import Darwin
  @_exported public import Foundation
#else
  @_exported public import FoundationEssentials
  @_exported public import Glibc
#endif

/// The kinds of operating system that a program may treat differently.
package enum OperatingSystem: Sendable {
  /// macOS and iOS.
  case apple
  case linux

  /// The system that this program was built for.
  package static let current: OperatingSystem = {
    #if canImport(Darwin)
      .apple
    #else
      .linux
    #endif
  }()
}

// MARK: Language

/// Returns the app's translation of a text, from the table `Waymark` of its main bundle; nil if there is none, as on
/// Linux, where apps have no such tables.
package func appTranslation(of text: String) -> String? {
  #if canImport(Darwin)
    let missing = "\u{0}"
    let found = Bundle.main.localizedString(forKey: text, value: missing, table: "Waymark")
    return found == missing ? nil : found
  #else
    nil
  #endif
}

// MARK: Time zones

extension Zone {
  /// The zone with an IANA name; nil if this machine has none with that name.
  package init?(named name: String) {
    #if canImport(Darwin)
      guard let zone = TimeZone(identifier: name) else { return nil }
      self.init(zone)
    #else
      guard let zone = ZoneFiles.shared.zone(named: name) else { return nil }
      self = zone
    #endif
  }

  /// The zone that this machine is set to; UTC if it is set to none that has a name.
  package static var current: Zone {
    #if canImport(Darwin)
      Zone(TimeZone.current)
    #else
      ZoneFiles.shared.zone(ofVariable: getenv("TZ").map { String(cString: $0) })
    #endif
  }
}

// MARK: Durability

/// Makes the content of an open file durable: afterwards it survives a power loss. Returns 0, or -1 and sets `errno`.
///
/// On Apple platforms `fsync` only passes the content to the drive, which may keep it in its cache for a while and may
/// write it in another order. There the drive is asked to empty its cache as well.
package func syncFile(_ descriptor: Int32) -> Int32 {
  #if canImport(Darwin)
    synced(full: { fcntl(descriptor, F_FULLFSYNC) }, plain: { fsync(descriptor) })
  #else
    uninterrupted { fsync(descriptor) }
  #endif
}

/// Makes the names in an open directory durable. Returns 0, or -1 and sets `errno`.
///
/// Some file systems can't sync a directory. On those, names are assumed to be durable.
package func syncDirectory(_ descriptor: Int32) -> Int32 {
  syncFile(descriptor) == 0 || isUnsupported(errno) ? 0 : -1
}

/// Makes the content of an open file durable, but not necessarily its times. Returns 0, or -1 and sets `errno`.
package func syncData(_ descriptor: Int32) -> Int32 {
  #if canImport(Darwin)
    syncFile(descriptor)
  #else
    uninterrupted { fdatasync(descriptor) }
  #endif
}

/// Calls `full`, and `plain` only if the file system does not support `full`. Both behave like system calls.
///
/// A `full` that fails in any other way has failed for good. The system reports a failed write only once, so `plain`
/// could succeed although content was lost.
func synced(full: () -> Int32, plain: () -> Int32) -> Int32 {
  if uninterrupted(full) == 0 { return 0 }
  return isUnsupported(errno) ? uninterrupted(plain) : -1
}

/// Whether an error of a sync means that the file system has no such operation.
private func isUnsupported(_ code: Int32) -> Bool {
  [EINVAL, ENOTSUP, EOPNOTSUPP, ENOSYS, ENOTTY].contains(code)
}

/// Repeats a call that was interrupted by a signal.
package func uninterrupted<Number: SignedInteger>(_ call: () -> Number) -> Number {
  while true {
    let result = call()
    if result >= 0 || errno != EINTR { return result }
  }
}

/// Reserves disk space for a new, empty file. Returns false if there is not enough.
package func reserveRoom(_ descriptor: Int32, bytes: Int) -> Bool {
  #if canImport(Darwin)
    // Not every file system there can reserve room, so the bytes are written.
    let block = [UInt8](repeating: 0x5a, count: bytes)
    return write(descriptor, block, block.count) == block.count
  #else
    posix_fallocate(descriptor, 0, off_t(bytes)) == 0
  #endif
}

// MARK: Sockets

/// The kinds of socket.
package enum SocketKind: Sendable {
  case stream
  case datagram

  /// The system's number, as `getaddrinfo` expects it.
  package var number: Int32 {
    #if canImport(Darwin)
      self == .stream ? SOCK_STREAM : SOCK_DGRAM
    #else
      Int32(self == .stream ? SOCK_STREAM.rawValue : SOCK_DGRAM.rawValue)
    #endif
  }
}

/// Opens a socket that programs started by this process do not inherit. Writing to it, with `quietSend` as a flag,
/// raises no signal after the peer has closed the connection. Returns the descriptor, or -1 and sets `errno`.
package func openSocket(_ family: Int32, _ kind: SocketKind) -> Int32 {
  #if canImport(Darwin)
    let descriptor = socket(family, kind.number, 0)
    guard descriptor >= 0 else { return -1 }
    guard prepareSocket(descriptor) == 0 else {
      let code = errno
      close(descriptor)
      errno = code
      return -1
    }
    return descriptor
  #else
    socket(family, kind.number | Int32(SOCK_CLOEXEC.rawValue), 0)
  #endif
}

/// Gives an accepted connection the properties of a socket of `openSocket`. Returns 0, or -1 and sets `errno`.
package func prepareSocket(_ descriptor: Int32) -> Int32 {
  #if canImport(Darwin)
    var yes: Int32 = 1
    let size = socklen_t(MemoryLayout<Int32>.size)
    // On a connection that has already ended, setting an option fails with EINVAL.
    if setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, size) != 0, errno != EINVAL { return -1 }
  #endif
  return fcntl(descriptor, F_SETFD, FD_CLOEXEC)
}

/// The flag with which `send` raises no signal. Apple platforms have the socket option SO_NOSIGPIPE instead.
package let quietSend: Int32 = {
  #if canImport(Darwin)
    0
  #else
    Int32(MSG_NOSIGNAL)
  #endif
}()

/// The option with which several processes may bind one UDP port, and each gets a copy of every broadcast.
///
/// On Linux, `SO_REUSEPORT` would require that all of them belong to one user.
package let sharesPort: Int32 = {
  #if canImport(Darwin)
    SO_REUSEPORT
  #else
    SO_REUSEADDR
  #endif
}()

/// The user and the process at the other end of a Unix socket.
package struct SocketPeer: Hashable, Sendable {
  package let user: uid_t
  /// Nil if the system does not report it.
  package let process: Int32?

  /// Asks the system; nil if it does not report the user.
  package init?(of descriptor: Int32) {
    #if canImport(Darwin)
      var (user, group) = (uid_t(), gid_t())
      guard getpeereid(descriptor, &user, &group) == 0 else { return nil }
      self.user = user
      var process: pid_t = 0
      var size = socklen_t(MemoryLayout<pid_t>.size)
      let isReported = getsockopt(descriptor, SOL_LOCAL, LOCAL_PEERPID, &process, &size) == 0
      self.process = isReported ? process : nil
    #else
      // The fields of `struct ucred { pid, uid, gid }`. The C type itself needs a feature macro that the import does
      // not set.
      var credentials: [UInt32] = [0, 0, 0]
      var size = socklen_t(12)
      guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0, size == 12 else {
        return nil
      }
      user = credentials[1]
      process = Int32(exactly: credentials[0])
    #endif
  }
}

/// Copies the address or the mask of an interface to a structure of full size, and returns its size.
///
/// On Apple platforms a mask may end after its last byte that is not zero, and may lack the family.
///
/// - Parameter family: `AF_INET` or `AF_INET6`.
package func wholeAddress(
  _ address: UnsafePointer<sockaddr>, family: Int32
) -> (storage: sockaddr_storage, size: socklen_t) {
  var storage = sockaddr_storage()
  let size = family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
  #if canImport(Darwin)
    let given = min(size, Int(address.pointee.sa_len))
  #else
    let given = size
  #endif
  withUnsafeMutableBytes(of: &storage) {
    $0.copyBytes(from: UnsafeRawBufferPointer(start: address, count: given))
  }
  storage.ss_family = sa_family_t(family)
  #if canImport(Darwin)
    storage.ss_len = UInt8(size)
  #endif
  return (storage, socklen_t(size))
}

// MARK: Processes

/// A resource of the process that the system limits.
package enum LimitedResource: Sendable {
  case openFiles
  case coreFile

  #if canImport(Darwin)
    private var number: Int32 { self == .openFiles ? RLIMIT_NOFILE : RLIMIT_CORE }
  #else
    private var number: __rlimit_resource_t {
      __rlimit_resource_t(self == .openFiles ? RLIMIT_NOFILE.rawValue : RLIMIT_CORE.rawValue)
    }
  #endif

  /// The current limit and the highest one that the process may set; nil if the system does not report them.
  package var limits: (current: UInt64, highest: UInt64)? {
    var limits = rlimit()
    guard getrlimit(number, &limits) == 0 else { return nil }
    return (UInt64(limits.rlim_cur), UInt64(limits.rlim_max))
  }

  /// Sets the limits. Returns false if the system refuses.
  @discardableResult
  package func setLimits(current: UInt64, highest: UInt64) -> Bool {
    var limits = rlimit(rlim_cur: rlim_t(current), rlim_max: rlim_t(highest))
    return setrlimit(number, &limits) == 0
  }
}

#if canImport(Darwin)
  /// File actions for a spawned process.
  package typealias SpawnActions = posix_spawn_file_actions_t?
  /// Attributes of a spawned process.
  package typealias SpawnAttributes = posix_spawnattr_t?
#else
  /// File actions for a spawned process.
  package typealias SpawnActions = posix_spawn_file_actions_t
  /// Attributes of a spawned process.
  package typealias SpawnAttributes = posix_spawnattr_t
#endif

/// Returns values for `posix_spawn_file_actions_init` and `posix_spawnattr_init` to fill in.
package func spawnValues() -> (actions: SpawnActions, attributes: SpawnAttributes) {
  #if canImport(Darwin)
    (nil, nil)
  #else
    (SpawnActions(), SpawnAttributes())
  #endif
}

/// Runs `body` on a new thread, which ends with it. If the system refuses another thread, `body` runs on one of those that
/// the program has, as soon as one is free.
package func startThread(_ body: @escaping @Sendable () -> Void) {
  startThread(body, creating: createThread)
}

/// - Parameter create: creates a thread that runs what it is given; returns false if the system refuses.
func startThread(_ body: @escaping @Sendable () -> Void, creating create: (ThreadBody) -> Bool) {
  guard !create(ThreadBody(run: body)) else { return }
  DispatchQueue.global().async(execute: body)
}

private func createThread(_ body: ThreadBody) -> Bool {
  #if canImport(Darwin)
    Thread.detachNewThread(body.run)
    return true
  #else
    let boxed = Unmanaged.passRetained(body)
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { argument in
        if let argument { Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run() }
        return nil
      }, boxed.toOpaque())
    guard code == 0 else {
      boxed.release()
      return false
    }
    pthread_detach(thread)
    return true
  #endif
}

/// What a thread runs, as an object, because `pthread_create` passes one pointer.
final class ThreadBody: Sendable {
  let run: @Sendable () -> Void
  init(run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Suspends the calling thread.
package func sleepThread(seconds: Double) {
  var left = timespec(tv_sec: Int(seconds), tv_nsec: Int((seconds - seconds.rounded(.down)) * 1e9))
  // A signal interrupts the sleep.
  while true {
    var wanted = left
    guard nanosleep(&wanted, &left) != 0, errno == EINTR else { return }
  }
}

/// The path of the running program; nil if the system does not report it.
package var programPath: String? {
  #if canImport(Darwin)
    Bundle.main.executablePath
  #else
    try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
  #endif
}

/// Keeps this process's memory from being read by the user's other processes and from being written to core files.
///
/// This has no effect if the operating system refuses, as it may for a process that has dropped privileges, and none on
/// Apple platforms, where a process needs the right to debug another one.
package func hideMemory() { _ = waymark_hide_memory() }
