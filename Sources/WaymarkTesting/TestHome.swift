import Foundation
public import Waymark

/// A directory of its own for the node of one test; it goes with the value.
public final class TestHome: Sendable {
  /// The home in the directory; the directory is not made yet.
  public let home: Home

  /// A place that nobody has had before.
  public init() throws {
    RealData.putOutOfBounds()
    let folder = FileManager.default.temporaryDirectory.appending(path: "waymark-tests")
    home = Home(path: folder.appending(path: UUID().uuidString).path)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: home.path) }
}

/// The guard in front of the data that the person who runs the tests really has.
public enum RealData {
  /// From here on, what looks for the default directory in this process finds one that can't be made, so the
  /// test that reaches for it fails. Called by everything in this module.
  public static func putOutOfBounds() { _ = redirected }

  private static let redirected: Void = {
    for variable in ["WAYMARK_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"] {
      setenv(variable, outOfBounds, 1)
    }
  }()

  /// Below something that is no directory.
  private static let outOfBounds = "/dev/null/tests-never-touch-real-data"
}

/// What is wrong with the ground a test stands on.
public struct TestGroundError: Error, CustomStringConvertible {
  /// A sentence for whoever reads the report of the test.
  public let description: String
}
