// The calls of the C library that change files
//
// This program defines these calls itself, so that the dynamic linker finds them here before it finds those of the C library:
// for this program, and for SQLite, Foundation and Swift's runtime as well. Each tells the observer what it is about to do,
// and then calls the one of the C library, unless the observer lets it fail. So a simulation knows every change to a file, by
// any library, and in which order.
//
//     SQLite ──pwrite64──▶ this file ──▶ FileCallObserver
//                              └───────▶ pwrite64 of the C library
//
// Without an observer, which is nearly always, a call costs one comparison more. Other systems than Linux bind a library's
// calls to the library where it found them, so there nothing is reported.

import Foundation
import Histories

#if os(Linux)
  let fileCallsAreReported = true

  /// Returns the C library's definition of a function.
  private func original<Function>(_ name: String, as type: Function.Type) -> Function {
    // RTLD_NEXT, a macro that Swift does not see.
    guard let address = dlsym(UnsafeMutableRawPointer(bitPattern: -1), name) else {
      fatalError("the C library has no \(name)")
    }
    return unsafeBitCast(address, to: type)
  }

  /// Tells the observer about a call, and returns whether the call may happen. If not, `errno` says why. What the observer
  /// does itself is not reported.
  private func report(_ call: () -> FileCall?) -> Bool {
    guard let observer = FileCallObserver.current else { return true }
    FileCallObserver.current = nil
    let failure = call().flatMap(observer)
    // The observer may have been removed by itself, but is never replaced.
    FileCallObserver.current = observer
    if let failure { errno = failure }
    return failure == nil
  }

  /// The path of an open file; nil if it has none any more.
  private func path(_ file: Int32) -> String? {
    let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(file)")
    return path.flatMap { $0.hasPrefix("/") && !$0.hasSuffix(" (deleted)") ? $0 : nil }
  }

  private typealias Open = @convention(c) (UnsafePointer<CChar>, Int32, UInt32) -> Int32
  private typealias Write = @convention(c) (Int32, UnsafeRawPointer, Int) -> Int
  private typealias PositionedWrite = @convention(c) (Int32, UnsafeRawPointer, Int, Int) -> Int
  private typealias Resize = @convention(c) (Int32, Int) -> Int32
  private typealias Sync = @convention(c) (Int32) -> Int32
  private typealias OnePath = @convention(c) (UnsafePointer<CChar>) -> Int32
  private typealias TwoPaths = @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>) -> Int32

  private let nextOpen = original("open", as: Open.self)
  private let nextOpen64 = original("open64", as: Open.self)
  private let nextWrite = original("write", as: Write.self)
  private let nextPwrite = original("pwrite", as: PositionedWrite.self)
  private let nextPwrite64 = original("pwrite64", as: PositionedWrite.self)
  private let nextFtruncate = original("ftruncate", as: Resize.self)
  private let nextFtruncate64 = original("ftruncate64", as: Resize.self)
  private let nextFsync = original("fsync", as: Sync.self)
  private let nextFdatasync = original("fdatasync", as: Sync.self)
  private let nextUnlink = original("unlink", as: OnePath.self)
  private let nextRename = original("rename", as: TwoPaths.self)
  private let nextLink = original("link", as: TwoPaths.self)

  private func reportOpen(_ path: UnsafePointer<CChar>, _ flags: Int32) -> Bool {
    guard flags & (O_CREAT | O_TRUNC) != 0 else { return true }
    return report { .create(String(cString: path), empties: flags & O_TRUNC != 0) }
  }

  private func reportWrite(
    _ file: Int32, _ bytes: UnsafeRawPointer, _ count: Int, at offset: Int
  ) -> Bool {
    report {
      path(file).map { .write($0, offset: offset, UnsafeRawBufferPointer(start: bytes, count: count)) }
    }
  }

  // The mode is an optional argument of `open`, which is passed in the same register as a third one.
  @_cdecl("open") public func reportingOpen(_ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: UInt32)
    -> Int32
  {
    guard reportOpen(path, flags) else { return -1 }
    return nextOpen(path, flags, mode)
  }

  @_cdecl("open64") public func reportingOpen64(_ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: UInt32)
    -> Int32
  {
    guard reportOpen(path, flags) else { return -1 }
    return nextOpen64(path, flags, mode)
  }

  @_cdecl("write") public func reportingWrite(_ file: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
    let isObserved = FileCallObserver.current != nil
    guard !isObserved || reportWrite(file, bytes, count, at: lseek(file, 0, SEEK_CUR)) else { return -1 }
    return nextWrite(file, bytes, count)
  }

  @_cdecl("pwrite")
  public func reportingPwrite(_ file: Int32, _ bytes: UnsafeRawPointer, _ count: Int, _ offset: Int) -> Int {
    guard reportWrite(file, bytes, count, at: offset) else { return -1 }
    return nextPwrite(file, bytes, count, offset)
  }

  @_cdecl("pwrite64")
  public func reportingPwrite64(_ file: Int32, _ bytes: UnsafeRawPointer, _ count: Int, _ offset: Int) -> Int
  {
    guard reportWrite(file, bytes, count, at: offset) else { return -1 }
    return nextPwrite64(file, bytes, count, offset)
  }

  @_cdecl("ftruncate") public func reportingFtruncate(_ file: Int32, _ size: Int) -> Int32 {
    guard report({ path(file).map { .truncate($0, size: size) } }) else { return -1 }
    return nextFtruncate(file, size)
  }

  @_cdecl("ftruncate64") public func reportingFtruncate64(_ file: Int32, _ size: Int) -> Int32 {
    guard report({ path(file).map { .truncate($0, size: size) } }) else { return -1 }
    return nextFtruncate64(file, size)
  }

  @_cdecl("fsync") public func reportingFsync(_ file: Int32) -> Int32 {
    guard report({ path(file).map { .sync($0) } }) else { return -1 }
    return nextFsync(file)
  }

  @_cdecl("fdatasync") public func reportingFdatasync(_ file: Int32) -> Int32 {
    guard report({ path(file).map { .sync($0) } }) else { return -1 }
    return nextFdatasync(file)
  }

  @_cdecl("unlink") public func reportingUnlink(_ path: UnsafePointer<CChar>) -> Int32 {
    guard report({ .remove(String(cString: path)) }) else { return -1 }
    return nextUnlink(path)
  }

  @_cdecl("rename") public func reportingRename(_ path: UnsafePointer<CChar>, _ target: UnsafePointer<CChar>)
    -> Int32
  {
    guard report({ .rename(String(cString: path), to: String(cString: target)) }) else { return -1 }
    return nextRename(path, target)
  }

  @_cdecl("link") public func reportingLink(_ path: UnsafePointer<CChar>, _ target: UnsafePointer<CChar>)
    -> Int32
  {
    guard report({ .link(String(cString: path), to: String(cString: target)) }) else { return -1 }
    return nextLink(path, target)
  }
#else
  let fileCallsAreReported = false
#endif
