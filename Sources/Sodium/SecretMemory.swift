import CSodium

/// Locked memory with guard pages that holds a long-lived secret. It is read-only once it is filled, and wiped when it
/// is freed.
///
/// `Sendable` is unchecked because the bytes never change after `init` and no mutable pointer to them escapes.
final class SecretMemory: @unchecked Sendable {
  private let address: UnsafeMutableRawPointer

  /// Allocates `count` bytes and calls `fill`, which must write all of them.
  init(count: Int, fill: (UnsafeMutablePointer<UInt8>) -> Void) throws(SodiumError) {
    Library.ready
    guard let address = sodium_malloc(count) else { throw .outOfMemory }
    self.address = address
    fill(address.assumingMemoryBound(to: UInt8.self))
    sodium_mprotect_readonly(address)
  }

  deinit { sodium_free(address) }

  func withBytes<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
    body(UnsafePointer(address.assumingMemoryBound(to: UInt8.self)))
  }
}
