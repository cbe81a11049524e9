import Platform
import Model
import PageServer
package import Waymark
package import WaymarkPage

/// `page.read`: what the page shows, of everything or of one trip. The client makes a file of it.
package struct ReadPage: NodeCommand {
  package static let name = "page.read"
  package typealias Answer = PageDocument
  package var isReadOnly: Bool { true }

  /// The trip that the page is about; nil for everything.
  package var trip: String?

  package init(trip: String?) { self.trip = trip }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> PageDocument {
    guard let trip else { return try await node.pageDocument() }
    return try node.pageDocument(of: Trip.ID(try node.typedRecords(zone: nil).trip(trip)))
  }
}

/// `page.open`: serves the live page, if it is not served yet, and makes a code that opens it once.
///
/// Only the user of the node reaches the control socket, so only this user gets a code.
package struct OpenPage: PromptCommand {
  package static let name = "page.open"

  package struct Answer: Codable, Sendable {
    /// The address without the code: `http://127.0.0.1:1234/`.
    package let address: String
    /// The code, which is valid once and for a short time; a browser sends it from the fragment of the address.
    package let code: String
  }

  package init() {}

  /// - Throws: `WaymarkError` with the code `not_running` unless the node serves.
  package func perform(on node: isolated Node) throws -> Answer {
    try node.core.checkServing()
    let server = try node.openPage(closesWhenIdle: true)
    guard let code = server.makeCode() else { throw WaymarkError.hungUp }
    return Answer(address: "http://\(server.host)/", code: code)
  }
}
