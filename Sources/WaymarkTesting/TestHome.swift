import Foundation
public import Waymark

/// A temporary directory for the node of one test, removed when the value is released.
public final class TestHome: Sendable {
  /// The home in the directory, which is not created yet.
  public let home: Home

  /// Chooses a unique directory.
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
  /// Points the default directory of this process to one that can't be created, so that a test that uses it fails.
  ///
  /// Everything in this module calls it.
  public static func putOutOfBounds() { _ = redirected }

  private static let redirected: Void = {
    for variable in ["WAYMARK_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"] {
      setenv(variable, outOfBounds, 1)
    }
  }()

  /// A path below a file that is not a directory.
  private static let outOfBounds = "/dev/null/tests-never-touch-real-data"
}

/// An error in the environment of a test: devices that don't settle or differ, a store that is not empty, or wrong use
/// of the clock.
public struct TestGroundError: Error, CustomStringConvertible {
  /// What went wrong, for the report of the test.
  public let description: String
}
