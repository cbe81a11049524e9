import Platform
import Reasons
import Wire

/// The directory in which a node keeps all its data; each node has its own.
public struct Home: Hashable, Sendable {
  /// The absolute path of the directory.
  public let path: String
  /// The source of passphrases for sealed key files.
  package let passphrases: PassphraseSource
  /// Where the app keeps the keys; nil for the files of this home.
  package let keyStore: (any KeyStore)?
  /// The storage of a home in memory; nil for a directory.
  private let kept: (any HomeStorage)?

  /// Creates the home in a directory, which is created on first use if it does not exist.
  ///
  /// - Parameters:
  ///   - path: the directory; relative to the current one if it is not absolute.
  ///   - passphrases: the source of passphrases for sealed key files.
  ///   - keys: where to keep the keys; nil for files of this home. Keys that are in files stay there.
  public init(
    path: String, passphrases: PassphraseSource = .environment, keys: (any KeyStore)? = nil
  ) {
    // If the working directory no longer exists the path stays relative, and nothing can be opened there.
    let absolute = path.hasPrefix("/") ? path : (try? workingDirectory() + "/" + path) ?? path
    self.path = Self.withoutTrailingSlash(absolute)
    self.passphrases = passphrases
    keyStore = keys
    kept = nil
  }

  /// Creates a home without a directory; its path is an identifier at which nothing exists.
  init(path: String, storage: any HomeStorage) {
    self.path = path
    passphrases = .environment
    keyStore = nil
    kept = storage
  }

  /// Returns the home in another directory, with the same source of passphrases and the same key store.
  package func moved(to path: String) -> Home { Home(path: path, passphrases: passphrases, keys: keyStore) }

  /// The storage for everything except the store.
  package var storage: any HomeStorage { kept ?? HomeFiles(self) }

  /// Whether this home is in memory, so that closing its store loses everything.
  package var isInMemory: Bool { kept != nil }

  /// Homes with the same directory are equal.
  public static func == (left: Home, right: Home) -> Bool { left.path == right.path }

  public func hash(into hasher: inout Hasher) { hasher.combine(path) }

  /// Chooses the home: from the flag, else `WAYMARK_HOME`, else this system's folder for application data.
  ///
  /// - Throws: `WaymarkError` if the flag or variable is empty, or no folder can be determined.
  package static func resolve(
    flag: String?, environment: [String: String] = ProcessInfo.processInfo.environment,
    passphrases: PassphraseSource = .environment
  ) throws -> Home {
    Home(path: try directory(flag, environment), passphrases: passphrases)
  }

  private static func directory(_ flag: String?, _ environment: [String: String]) throws -> String {
    for (name, path) in [("--home", flag), ("WAYMARK_HOME", environment["WAYMARK_HOME"])] {
      guard let path else { continue }
      // An empty variable in a script must not select the user's regular home.
      guard !path.isEmpty else {
        throw WaymarkError.usage("\(name) is empty.", next: "specify a directory: \(waymark: "--home DIR")")
      }
      return path.hasPrefix("/") ? path : try workingDirectory() + "/" + path
    }
    switch OperatingSystem.current {
    case .apple: return try userDirectory(environment) + "/Library/Application Support/Waymark"
    case .linux:
      let data = environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
      return try (data ?? userDirectory(environment) + "/.local/share") + "/waymark"
    }
  }

  private static func userDirectory(_ environment: [String: String]) throws -> String {
    guard let user = environment["HOME"], user.hasPrefix("/") else {
      throw WaymarkError.usage(
        "The node's directory can't be determined: HOME is not set to an absolute path.",
        next: "set HOME, or specify a directory: \(waymark: "--home DIR")")
    }
    return user
  }

  package var store: String { path + "/store.db" }
  /// The folder with the bytes of attachments and pictures.
  package var files: String { path + "/files" }
  package var keys: String { path + "/keys" }
  package var deviceKey: String { keys + "/device.key" }
  package var rootKey: String { keys + "/root.key" }
  /// The key with which this device issues premium to its own circle; see `OwnPremium`.
  package var issuerKey: String { keys + "/issuer.key" }
  /// The local copy of the settings, readable without opening the store.
  package var settings: String { path + "/settings.json" }
  package var configuration: String { path + "/config.json" }
  /// The token that ties the incarnation to this directory; see `IncarnationToken`.
  var incarnation: String { path + "/incarnation" }
  package var backups: String { path + "/backups" }
  /// Holds the new store and keys of a join or restore until they replace the old ones.
  package var staging: String { path + "/joining" }

  /// Holds the store that the preview of a restore builds in this process while a node has the present one open.
  package var stagingForPreview: Home {
    Home(path: previewStaging + "\(ProcessInfo.processInfo.processIdentifier)")
  }

  /// The folders of previews whose processes were killed.
  var abandonedPreviews: [String] {
    let mark = Files.name(of: previewStaging)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    return names.filter { name in
      guard name.hasPrefix(mark), let process = pid_t(name.dropFirst(mark.count)), process > 0 else {
        return false
      }
      return kill(process, 0) != 0 && errno == ESRCH
    }.map { path + "/" + $0 }
  }

  var previewStaging: String { staging + "-preview-" }

  /// Holds the key and the ticket of a join until the join is complete; see `PendingJoin`.
  package var pendingJoin: String { path + "/join-pending" }

  /// Holds the tables that a verification folds from the log for comparison.
  package var scratch: String { path + "/verifying" }

  /// Whether the home has a store.
  public var hasStore: Bool { FileManager.default.fileExists(atPath: store) }

  /// The socket through which the command line talks to a running node; see `ControlSocketPath`.
  package var controlSocket: String { ControlSocketPath.all(of: self).first?.path ?? path + "/control.sock" }

  private static func withoutTrailingSlash(_ path: String) -> String {
    path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
  }
}
