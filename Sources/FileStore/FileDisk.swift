// Sources/store.md, "Files"

/// The folder in which a `FileStore` keeps its files: the machine's disk, or a simulated one.
///
/// Names are relative to that folder and have at most one slash. Folders exist for one level only. All methods may be
/// called on any thread.
package protocol FileDisk: Sendable {
  /// Returns the names in a folder, without the folder's own name, in any order. The result is empty if the folder does
  /// not exist. The empty name stands for the top folder.
  func names(in folder: String) throws(FileStoreError) -> [String]

  /// Returns the size of a file; nil if it does not exist.
  func size(of name: String) throws(FileStoreError) -> Int?

  /// Returns `prefix` and the bytes of a range, or fewer of them if the file ends sooner.
  func read(_ name: String, _ range: Range<Int>, after prefix: [UInt8]) throws(FileStoreError) -> [UInt8]

  /// Opens a file. It can be read even after it was removed.
  func open(_ name: String) throws(FileStoreError) -> any OpenFile

  /// Creates an empty file, or empties an existing one.
  func create(_ name: String) throws(FileStoreError)

  /// Writes bytes to an existing file. If `offset` is after its end, the gap holds zeros.
  func write(_ bytes: ArraySlice<UInt8>, to name: String, at offset: Int) throws(FileStoreError)

  /// Makes the content of a file durable.
  func sync(_ name: String) throws(FileStoreError)

  /// Gives a file another name, replacing any file of that name.
  func move(_ name: String, to target: String) throws(FileStoreError)

  /// Removes a file. Does nothing if it does not exist.
  func remove(_ name: String) throws(FileStoreError)

  /// Creates a folder in the top folder, durably, unless it exists. The empty name stands for the top folder itself.
  func makeFolder(_ folder: String) throws(FileStoreError)

  /// Makes the names in a folder durable.
  func syncNames(in folder: String) throws(FileStoreError)

  /// Returns how many bytes can be written before the disk is full.
  func room() throws(FileStoreError) -> Int
}

/// A file that is open for reading.
package protocol OpenFile: Sendable {
  /// The size of the file when it was opened.
  var size: Int { get }

  /// Returns the bytes of a range, or fewer if the file ends sooner.
  func read(_ range: Range<Int>) throws(FileStoreError) -> [UInt8]
}

/// The reason why a file could not be read or written.
package enum FileStoreError: Error, Hashable, Sendable {
  /// There is not enough room on the disk.
  case full
  /// The file does not exist here.
  case missing
  /// The stored bytes do not match the file's id.
  case damaged
  /// The file is larger than a file may be.
  case tooLarge
  /// The path leads to a folder, a pipe or a device.
  case notAFile
  /// A system call failed with this error number.
  case failed(Int32)
}
