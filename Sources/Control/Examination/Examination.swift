public import Platform
public import Waymark
import WaymarkCare

extension Home {
  /// Checks everything that a node needs, and continues after a problem. It changes nothing.
  ///
  /// For a home that this process has open, ask the node: ``Node/examine(writingTo:)``.
  ///
  /// - Parameter report: a file to share with others for support; it contains no data from records or settings.
  /// - Throws: `WaymarkError` if there is no store at all, or the report can't be written.
  public func examine(writingTo report: URL? = nil) async throws -> Diagnosis {
    try await Doctor.examine(self, report: report?.path(percentEncoded: false), overwrites: true)
  }
}

extension Node {
  /// Checks everything that this node needs, and its state; see ``Home/examine(writingTo:)``.
  ///
  /// - Parameter report: a file to share with others for support; it contains no data from records or settings.
  /// - Throws: `WaymarkError` if the report can't be written, or for a node in memory.
  public func examine(writingTo report: URL? = nil) async throws -> Diagnosis {
    try await Doctor.examine(home, report: report?.path(percentEncoded: false), overwrites: true) { [self] in
      (try await status(), try await currentMetrics().families)
    }
  }
}

extension Doctor {
  /// Examines a home. Asks its node through the control socket, or opens one if none is running.
  package static func examine(_ home: Home, report: String?, overwrites: Bool) async throws -> Diagnosis {
    try await examine(home, report: report, overwrites: overwrites) {
      let status = try await ControlClient.perform(ShowStatus(), home: home)
      return (status, try await ControlClient.perform(ShowMetrics(), home: home).metrics)
    }
  }
}
