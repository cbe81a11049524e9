import Foundation
import Wire

/// Where a node keeps everything it has: one directory a node.
public struct Home: Hashable, Sendable {
  /// The directory, absolute.
  public let path: String
  /// Asked for the passphrase of a key file that is sealed.
  package let passphrases: PassphraseSource
  /// What is kept elsewhere than in the directory: nil for a home on the disk.
  private let kept: (any HomeStorage)?

  /// The home in a directory by its path, which is made if it is not there.
  ///
  /// - Parameters:
  ///   - path: relative ones begin where the process was started.
  ///   - passphrases: asked where a key file is sealed.
  public init(path: String, passphrases: PassphraseSource = .environment) {
    // Where the working directory is gone the path stays relative, and leads nowhere.
    let absolute = path.hasPrefix("/") ? path : (try? workingDirectory() + "/" + path) ?? path
    self.path = Self.withoutTrailingSlash(absolute)
    self.passphrases = passphrases
    kept = nil
  }

  /// A home that is no directory; its path names it, and nothing is there.
  init(path: String, storage: any HomeStorage) {
    self.path = path
    passphrases = .environment
    kept = storage
  }

  /// What lies beside the store.
  package var storage: any HomeStorage { kept ?? HomeFiles(self) }

  /// A home is its directory.
  public static func == (left: Home, right: Home) -> Bool { left.path == right.path }

  public func hash(into hasher: inout Hasher) { hasher.combine(path) }

  /// What the flag names, else `WAYMARK_HOME`, else the place for data of applications on this system.
  ///
  /// - Throws: `WaymarkError` if what names it is empty, or nothing does.
  package static func resolve(
    flag: String?, environment: [String: String] = ProcessInfo.processInfo.environment,
    passphrases: PassphraseSource = .environment
  ) throws -> Home {
    Home(path: try directory(flag, environment), passphrases: passphrases)
  }

  private static func directory(_ flag: String?, _ environment: [String: String]) throws -> String {
    for (name, path) in [("--home", flag), ("WAYMARK_HOME", environment["WAYMARK_HOME"])] {
      guard let path else { continue }
      // An empty variable in a script must not mean the home of every day.
      guard !path.isEmpty else {
        throw WaymarkError.usage("\(name) is empty.", next: "name a directory: \(waymark: "--home DIR")")
      }
      return path.hasPrefix("/") ? path : try workingDirectory() + "/" + path
    }
    #if os(macOS)
      let user = try userDirectory(environment)
      return user + "/Library/Application Support/Waymark"
    #else
      let data = environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
      return try (data ?? userDirectory(environment) + "/.local/share") + "/waymark"
    #endif
  }

  private static func userDirectory(_ environment: [String: String]) throws -> String {
    guard let user = environment["HOME"], user.hasPrefix("/") else {
      throw WaymarkError.usage(
        "There is no home for the node: HOME is not set to an absolute path.",
        next: "set HOME, or name a directory: \(waymark: "--home DIR")")
    }
    return user
  }

  package var store: String { path + "/store.db" }
  package var keys: String { path + "/keys" }
  package var deviceKey: String { keys + "/device.key" }
  package var rootKey: String { keys + "/root.key" }
  /// The local copy of the settings, readable without opening the store.
  package var settings: String { path + "/settings.json" }
  package var configuration: String { path + "/config.json" }
  /// What ties the incarnation to this directory.
  var incarnation: String { path + "/incarnation" }
  package var backups: String { path + "/backups" }
  /// Where a join lays the new store and keys before they take the place of the old.
  package var staging: String { path + "/joining" }

  /// The key and the ticket of a join until it is complete; see `PendingJoin`.
  package var pendingJoin: String { path + "/join-pending" }

  /// Where a verification folds the log a second time.
  package var scratch: String { path + "/verifying" }

  /// Whether a node has been made here.
  public var hasStore: Bool { FileManager.default.fileExists(atPath: store) }

  /// The socket through which the command line talks to a running node; see `ControlSocketPath`.
  package var controlSocket: String { ControlSocketPath.all(of: self).first?.path ?? path + "/control.sock" }

  private static func withoutTrailingSlash(_ path: String) -> String {
    path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
  }
}
