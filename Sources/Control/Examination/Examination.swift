public import Foundation
public import Waymark

extension Home {
  /// Looks at everything that a node needs, and goes on where something is wrong. It changes nothing.
  ///
  /// For a home that this process has open, ask the node: ``Node/examine(writingTo:)``.
  ///
  /// - Parameter report: a file for whoever helps; nothing that people wrote into records or settings goes in.
  /// - Throws: `WaymarkError` if there is no store at all, or the report can't be written.
  public func examine(writingTo report: URL? = nil) async throws -> Diagnosis {
    try await Doctor.examine(self, report: report?.path(percentEncoded: false), overwrites: true)
  }
}

extension Node {
  /// Looks at everything that this node needs, and at how it is; see ``Home/examine(writingTo:)``.
  ///
  /// - Parameter report: a file for whoever helps; nothing that people wrote into records or settings goes in.
  /// - Throws: `WaymarkError` if the report can't be written, or for a node in memory.
  public func examine(writingTo report: URL? = nil) async throws -> Diagnosis {
    try await Doctor.examine(home, report: report?.path(percentEncoded: false), overwrites: true) { [self] in
      (try await status(), try await currentMetrics().families)
    }
  }
}

extension Doctor {
  /// Examines a home; its node is asked through the control socket, or opened for it.
  package static func examine(_ home: Home, report: String?, overwrites: Bool) async throws -> Diagnosis {
    try await examine(home, report: report, overwrites: overwrites) {
      let status = try await ControlClient.perform(ShowStatus(), home: home)
      return (status, try await ControlClient.perform(ShowMetrics(), home: home).metrics)
    }
  }
}
