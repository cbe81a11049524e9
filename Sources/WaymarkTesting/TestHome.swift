import Platform
public import Waymark

/// A temporary directory for one test's node, removed when this object is released.
public final class TestHome: Sendable {
  /// The node's home in this directory. The directory does not exist until a node is created there.
  public let home: Home

  /// Chooses a unique path for the directory, without creating it.
  public init() throws {
    RealData.putOutOfBounds()
    let folder = FileManager.default.temporaryDirectory.appending(path: "waymark-tests")
    home = Home(path: folder.appending(path: UUID().uuidString).path)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: home.path) }
}

/// A guard that keeps tests away from the real data of the user who runs them.
public enum RealData {
  /// Points this process's default directory to a path that can't be created, so that a test that uses the default
  /// directory fails.
  ///
  /// Everything in this module that creates a directory, a node or a circle calls this first.
  public static func putOutOfBounds() { _ = redirected }

  private static let redirected: Void = {
    for variable in ["WAYMARK_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"] {
      setenv(variable, outOfBounds, 1)
    }
  }()

  /// A path that can't be created, because `/dev/null` is not a directory.
  private static let outOfBounds = "/dev/null/tests-never-touch-real-data"
}

/// A failure in a test's environment: devices that don't settle or whose data differs, a store that is not empty, or
/// incorrect use of the clock.
public struct TestSetupError: Error, CustomStringConvertible {
  /// What went wrong, for the test report.
  public let description: String
}
