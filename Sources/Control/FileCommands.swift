import NodeOperations
import Reasons
package import Waymark
import WaymarkFiles

// The files of this device: which there are, which it keeps, and how to fetch one.

/// `files list`: the numbers and sizes of files, and the largest of them.
package struct ListFiles: PromptCommand {
  package static let name = "files.list"
  package typealias Answer = FileOverview
  package var isReadOnly: Bool { true }

  /// The maximum number of files to list, as typed.
  package var limit: String?

  package init() {}

  package func perform(on node: isolated Node) throws -> FileOverview {
    try node.files(limit: try wholeNumber(limit, "--limit", 0...Int.max) ?? Self.limitDefault)
  }

  private static let limitDefault = 20
}

/// `files keep`: which files this device keeps.
package struct KeepFiles: PromptCommand {
  package static let name = "files.keep"
  package var isReadOnly: Bool { policy == nil }

  /// `all`, `on-demand` or `up-to`; nil to show the current policy.
  package var policy: String?
  /// The size after `up-to`, as typed.
  package var size: String?

  package struct Answer: Codable, Sendable {
    package let keep: FileKeepPolicy
    package let changed: Bool
    package let files: FileTotals
  }

  package init() {}

  package func perform(on node: isolated Node) throws -> Answer {
    let before = node.fileKeepPolicy
    if let wanted = try wantedPolicy() { try node.setFileKeepPolicy(wanted) }
    let after = node.fileKeepPolicy
    return Answer(keep: after, changed: after != before, files: try node.files(limit: 0).totals)
  }

  private func wantedPolicy() throws -> FileKeepPolicy? {
    guard let policy else { return nil }
    if policy == "up-to" {
      guard let size else {
        throw WaymarkError.usage("`waymark files keep up-to` needs a size, such as 2GB.")
      }
      guard let bytes = byteSize(size).flatMap({ Int(exactly: $0) }) else {
        throw WaymarkError.badValue(
          "SIZE", size, allowed: "expected a number with kB, MB, GB or TB, such as 2GB")
      }
      return .upTo(bytes)
    }
    guard size == nil else { throw WaymarkError.usage("Only `up-to` takes a size.") }
    guard let wanted = FileKeepPolicy(policy) else {
      throw WaymarkError.badValue("POLICY", policy, allowed: "expected one of all, on-demand, up-to SIZE")
    }
    return wanted
  }
}

/// `files fetch`: fetches the content of an attachment from another device.
package struct FetchFile: NodeCommand {
  package static let name = "files.fetch"
  package var isReadOnly: Bool { true }

  /// The name or id of the attachment.
  package var id: String

  package struct Answer: Codable, Sendable {
    package let id: String
    package let name: String
    /// The size of the content.
    package let bytes: Int
    /// Whether the content had to be fetched.
    package let fetched: Bool
  }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> Answer {
    let record = try node.typedRecords(zone: nil).attachment(id)
    guard let file = record.file else {
      return Answer(id: record.id, name: record.name, bytes: record.bytes, fetched: false)
    }
    let wasHere = try FileContents(node.core).isHere(file)
    try await FileContents(node.core).fetch(file, named: record.name, tell: call.tellFetching(record.name))
    return Answer(id: record.id, name: record.name, bytes: record.bytes, fetched: !wasHere)
  }
}

extension CommandCall {
  /// Returns a function that reports the progress of a file to the client.
  func tellFetching(_ name: String) -> @Sendable (FileState) -> Void {
    let tell = tell
    return { state in
      guard case .partly(let received, let size, _) = state else { return }
      tell(.progress(WorkProgress(stage: "fetching", done: received, total: size), file: name))
    }
  }
}
