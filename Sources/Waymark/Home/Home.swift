public import Foundation
import Wire

/// Where a node keeps everything it has: one directory a node.
public struct Home: Hashable, Sendable {
  /// The directory, absolute.
  public let path: String

  public init(path: String) {
    let absolute = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    self.path = Self.withoutTrailingSlash(absolute)
  }

  /// What the flag names, else `WAYMARK_HOME`, else the place for data of applications on this system.
  public static func resolve(
    flag: String?, environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> Home {
    if let path = flag ?? environment["WAYMARK_HOME"], !path.isEmpty { return Home(path: path) }
    let user = environment["HOME"] ?? "."
    #if os(macOS)
      return Home(path: user + "/Library/Application Support/Waymark")
    #else
      let data = environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
      return Home(path: (data ?? user + "/.local/share") + "/waymark")
    #endif
  }

  public var store: String { path + "/store.db" }
  public var keys: String { path + "/keys" }
  public var deviceKey: String { keys + "/device.key" }
  public var rootKey: String { keys + "/root.key" }
  /// The local copy of the settings, readable without opening the store.
  public var settings: String { path + "/settings.json" }
  public var configuration: String { path + "/config.json" }
  /// What ties the incarnation to this directory.
  var incarnation: String { path + "/incarnation" }
  public var backups: String { path + "/backups" }
  /// Where a join lays the new store and keys before they take the place of the old.
  public var staging: String { path + "/joining" }

  /// Whether a node has been made here.
  public var hasStore: Bool { FileManager.default.fileExists(atPath: store) }

  /// The socket through which the command line talks to a running node. A path that is too long for a socket
  /// address gives way to one in the runtime directory, named by a hash of it.
  public var controlSocket: String {
    let direct = path + "/control.sock"
    if direct.utf8.count < Self.socketPathBytesMax { return direct }
    let name = hexadecimal(pathHash(path).prefix(12))
    let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? "/tmp"
    return "\(runtime)/waymark-\(name).sock"
  }

  /// `sun_path` holds 108 bytes on Linux and 104 on a Mac, the final zero included.
  private static let socketPathBytesMax = 104

  private static func withoutTrailingSlash(_ path: String) -> String {
    path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
  }
}
