import Foundation
package import Waymark
package import WaymarkPage

/// `page`: what the page shows, of everything or of one trip. The client makes a file of it.
package struct MakePage: NodeCommand, ConfirmableCommand {
  package static let name = "page"
  package var isReadOnly: Bool { true }

  /// The trip that the page is about; nil for everything.
  package var trip: String?
  /// The file to write; nil for one in the current directory.
  package var output: String?
  /// Whether to leave the page closed where there is a desktop.
  package var noOpen: Bool?
  /// Whether to replace a file that is not a page.
  package var yes: Bool?

  package struct Answer: Codable, Sendable {
    /// The file that was written; nil for none.
    package var output: String?
    /// Whether the page was opened in a browser.
    package var isOpened = false
    package let page: PageDocument

    private enum CodingKeys: String, CodingKey {
      case output
      case isOpened = "opened"
      case page
    }
  }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> Answer {
    guard let trip else { return Answer(page: try await node.pageDocument()) }
    let id = try node.typedRecords(zone: nil).trip(trip)
    return Answer(page: try node.pageDocument(of: UUID(id)))
  }
}
