public import Foundation
import JSONDocument
public import Waymark
import Wire

/// What an examination of a home found; see ``Node/examine(writingTo:)``.
public struct Diagnosis: Hashable, Sendable, Decodable {
  /// Whether nothing is broken.
  public let isSound: Bool
  /// Everything that was looked at, with what was found.
  public let findings: [Finding]

  /// One thing that was looked at.
  public struct Finding: Hashable, Sendable, Decodable {
    /// What was looked at.
    public let check: Check
    /// How bad it is.
    public let severity: Severity
    /// A word for programs: the code of a ``Reason``, or of what was found.
    public let code: String
    /// A sentence for people.
    public let text: String
    /// What to do next.
    public let next: String?
  }

  /// What was looked at.
  public enum Check: String, Hashable, Sendable, Decodable {
    /// The configuration file of the command line.
    case configuration
    /// Who may read the files.
    case permissions
    /// The key files.
    case keys
    /// The store, and what nodes say of it.
    case store
    /// The room on the disk.
    case disk
    /// This machine's clock, compared with that of peers.
    case clock
    /// The port at which the node listens.
    case port
    /// The other devices.
    case peers
    /// The gate, conflicts, and large changes.
    case sync
    /// Whether other devices hold what is here.
    case safety
  }

  /// How bad it is.
  public enum Severity: String, Hashable, Sendable, Decodable {
    /// As it should be.
    case ok
    /// A state, nothing to do.
    case info
    /// Something waits, or will not happen by itself.
    case warning
    /// Something is broken.
    case error
  }

  private enum CodingKeys: String, CodingKey {
    case isSound = "ok"
    case findings
  }
}

extension Home {
  /// Looks at everything that a node needs, and goes on where something is wrong. It changes nothing.
  ///
  /// For a home that this process has open, ask the node: ``Node/examine(writingTo:)``.
  ///
  /// - Parameter report: a file for whoever helps; nothing that people wrote into records or settings goes in.
  /// - Throws: `WaymarkError` if there is no store at all, or the report can't be written.
  public func examine(writingTo report: URL? = nil) async throws -> Diagnosis {
    try await Diagnosis(of: self, report: report?.path(percentEncoded: false), overwrites: true) {
      try await ControlClient.perform($0, home: self)
    }
  }
}

extension Node {
  /// Looks at everything that this node needs, and at how it is; see ``Home/examine(writingTo:)``.
  ///
  /// - Parameter report: a file for whoever helps; nothing that people wrote into records or settings goes in.
  /// - Throws: `WaymarkError` if the report can't be written, or for a node in memory.
  public func examine(writingTo report: URL? = nil) async throws -> Diagnosis {
    try await Diagnosis(of: home, report: report?.path(percentEncoded: false), overwrites: true) {
      [self] request in
      try await answer(request, events: { _ in }).get()
    }
  }
}

extension Diagnosis {
  init(
    of home: Home, report: String?, overwrites: Bool,
    asking ask: @Sendable (CommandRequest) async throws -> JSON
  ) async throws {
    let document = try await Doctor.examine(home, report: report, overwrites: overwrites, asking: ask)
    self = try AnswerCoding.decode(Diagnosis.self, from: document)
  }
}
