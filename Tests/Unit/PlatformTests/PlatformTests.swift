import Dispatch
import Testing

@testable import Platform

/// What replaces calls that differ between the systems. The parts for Apple platforms can't be tested on Linux, apart from
/// the decision when a sync may fall back to a weaker one.
struct PlatformTests {
  /// Behaves like a system call that gives these errors one after the other, and then succeeds.
  private final class Call {
    var errors: [Int32]
    var calls = 0
    init(_ errors: [Int32] = []) { self.errors = errors }

    func make() -> Int32 {
      calls += 1
      guard !errors.isEmpty else { return 0 }
      errno = errors.removeFirst()
      return -1
    }
  }

  @Test func `a full sync that succeeds is not followed by a plain one`() {
    let (full, plain) = (Call(), Call())
    #expect(synced(full: full.make, plain: plain.make) == 0)
    #expect(full.calls == 1 && plain.calls == 0)
  }

  @Test(arguments: [ENOTSUP, EINVAL, ENOTTY, ENOSYS])
  func `a file system without full syncs gets a plain one`(code: Int32) {
    let (full, plain) = (Call([code]), Call())
    #expect(synced(full: full.make, plain: plain.make) == 0)
    #expect(plain.calls == 1)
  }

  @Test(arguments: [EIO, ENOSPC, EDQUOT, EBADF])
  func `a full sync that fails is not made good by a plain one`(code: Int32) {
    let (full, plain) = (Call([code]), Call())
    #expect(synced(full: full.make, plain: plain.make) == -1)
    #expect(errno == code)
    #expect(plain.calls == 0)
  }

  @Test func `a plain sync that fails after an unsupported full one is a failure`() {
    let (full, plain) = (Call([ENOTSUP]), Call([EIO]))
    #expect(synced(full: full.make, plain: plain.make) == -1)
    #expect(errno == EIO)
  }

  @Test func `an interrupted sync is repeated`() {
    let (full, plain) = (Call([EINTR, EINTR, ENOTSUP]), Call([EINTR]))
    #expect(synced(full: full.make, plain: plain.make) == 0)
    #expect(full.calls == 3 && plain.calls == 2)
  }

  @Test func `files and directories are synced, and a closed descriptor is an error`() throws {
    let directory = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    #expect(syncDirectory(directory) == 0)
    close(directory)
    #expect(syncDirectory(-1) == -1)
    #expect(errno == EBADF)
    #expect(syncFile(-1) == -1)
    #expect(syncData(-1) == -1)
  }

  @Test func `a socket is not inherited, and tells who is at its other end`() throws {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, SocketKind.stream.number, 0, &ends) == 0)
    #expect(prepareSocket(ends[0]) == 0)
    #expect(fcntl(ends[0], F_GETFD) & FD_CLOEXEC != 0)
    let peer = try #require(SocketPeer(of: ends[0]))
    #expect(peer.user == geteuid() && peer.process == getpid())
    // Without the flag, this would end the process.
    close(ends[1])
    #expect(send(ends[0], [1], 1, quietSend) == -1)
    #expect(errno == EPIPE)
    close(ends[0])
    let opened = openSocket(AF_INET, .datagram)
    #expect(fcntl(opened, F_GETFD) & FD_CLOEXEC != 0)
    close(opened)
    #expect(openSocket(-1, .stream) == -1)
  }

  @Test(arguments: [AF_INET, AF_INET6]) func `a mask gets its family and its full size`(family: Int32) {
    var mask = sockaddr_storage()
    withUnsafeMutableBytes(of: &mask) { bytes in
      for index in 2..<bytes.count { bytes[index] = UInt8(truncatingIfNeeded: index) }
    }
    let (storage, size) = withUnsafePointer(to: mask) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { wholeAddress($0, family: family) }
    }
    #expect(Int32(storage.ss_family) == family)
    #expect(Int(size) == (family == AF_INET ? 16 : 28))
    withUnsafeBytes(of: storage) { bytes in
      #expect((2..<Int(size)).allSatisfy { bytes[$0] == UInt8($0) })
      #expect(bytes[Int(size)...].allSatisfy { $0 == 0 })
    }
  }

  @Test func `limits are read and set`() throws {
    let limits = try #require(LimitedResource.openFiles.limits)
    #expect(limits.current > 0 && limits.highest >= limits.current)
    #expect(LimitedResource.openFiles.setLimits(current: limits.current, highest: limits.highest))
  }

  @Test func `reserving room gives the file its size`() throws {
    var path = Array("/tmp/platform-XXXXXX".utf8CString)
    let file = mkstemp(&path)
    try #require(file >= 0)
    defer { close(file) }
    unlink(path)
    #expect(reserveRoom(file, bytes: 100_000))
    var status = stat()
    #expect(fstat(file, &status) == 0 && status.st_size == 100_000)
  }

  // MARK: Threads

  @Test(arguments: [false, true]) func `work is done even if the system refuses another thread`(
    isRefused: Bool
  ) {
    let done = DispatchSemaphore(value: 0)
    if isRefused {
      startThread({ done.signal() }, creating: { _ in false })
    } else {
      startThread { done.signal() }
    }
    #expect(done.wait(timeout: .now() + 20) == .success, "timed out waiting until the work is done")
  }
}
