import Control
import JSONDocument
import Waymark
import WaymarkCare

/// An error under `--json`: a document of one line on standard output.
///
/// The document is one line and has a `type` in every case. So it can also be the last line of a stream, and a usage
/// error needs no decision whether the command that was meant is a stream.
struct ErrorDocument {
  private let failure: WaymarkError

  init(_ failure: WaymarkError) { self.failure = failure }

  var line: String {
    var document = failure.line
    if failure.candidates.isEmpty { document["candidates"] = nil }
    return JSON.object([.init("schema", "waymark.error/1")] + (document.members ?? [])).text(.line)
  }

  /// Whether a command line asks for JSON. It may be one that can't be parsed.
  static func isAsked(for arguments: [String]) -> Bool {
    arguments.prefix { $0 != "--" }.contains("--json")
  }
}
