import Foundation

/// A temporary file, removed with its owner.
enum TemporaryFile {
  static func make() -> String {
    FileManager.default.temporaryDirectory.appending(path: "waymark-exchange-\(UUID().uuidString)").path
  }

  static func read(_ path: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: path))) }

  static func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }
}

/// Real files in a folder next to the repository, if it is there.
enum SharedData {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "shared/data").path
  static var isThere: Bool { FileManager.default.fileExists(atPath: folder) }

  static func bytes(_ path: String) throws -> [UInt8] { try TemporaryFile.read("\(folder)/\(path)") }
}
