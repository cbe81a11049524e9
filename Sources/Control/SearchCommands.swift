import Model
package import Waymark
import WaymarkKinds

/// `find`: the records that contain a text.
package struct FindRecords: PromptCommand {
  package static let name = "find"
  package typealias Answer = SearchResult
  package var isReadOnly: Bool { true }

  package var text: String
  package var kind: String?
  package var limit: String?

  package func perform(on node: isolated Node) throws -> SearchResult {
    let limit = try wholeNumber(limit, "--limit", 1...Int.max) ?? 100
    return try node.find(text, kind: kind.map { RecordKind(rawValue: $0) }, limit: limit)
  }
}

/// `today`: the habits that are due, today's entries, and the trip that is under way or comes next.
package struct ShowToday: PromptCommand {
  package static let name = "today"
  package typealias Answer = TodayOverview
  package var isReadOnly: Bool { true }

  package init() {}

  package func perform(on node: isolated Node) throws -> TodayOverview { try node.readOnQueue(.today) }
}
