package import Engine
public import Records
import Storage
import Wire

/// The numbers and sizes of the files of one device.
public struct FileTotals: Hashable, Sendable, Codable {
  /// Which files the device keeps.
  public let keep: FileKeepPolicy
  /// The number of files that are on the device.
  public let here: Int
  /// The size of these files in bytes.
  public let bytes: Int
  /// The number of files that visible records name and that are not on the device.
  public let missing: Int
  /// The size of these files in bytes.
  public let missingBytes: Int
  /// The number of files on the device that no other device has said it holds.
  public let lastCopies: Int
  /// The size of these files in bytes.
  public let lastCopyBytes: Int

  package init(of replicator: Replicator) throws {
    let store = replicator.store
    let (here, missing, last) = (
      try store.filesHereTotal(), try store.filesMissingTotal(), try store.lastCopiesTotal()
    )
    keep = replicator.keepPolicy
    (self.here, bytes) = (here.count, here.bytes)
    (self.missing, missingBytes) = (missing.count, missing.bytes)
    (lastCopies, lastCopyBytes) = (last.count, last.bytes)
  }
}
