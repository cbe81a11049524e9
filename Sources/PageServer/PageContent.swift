package import HTTP

/// What a live page shows and does: the connection to the node.
package protocol PageContent: Sendable {
  /// The page itself, which holds no data.
  var page: PageFile { get }

  /// Returns the state that the page shows, as a JSON document in UTF-8.
  ///
  /// - Throws: any error; the browser is told only that it failed.
  func document() async throws -> [UInt8]

  /// Carries out an action, or returns what it would do and the value that confirms it.
  ///
  /// - Parameter confirmation: the value from an earlier answer to the same action; nil the first time.
  func perform(_ action: PageAction, confirmation: String?) async -> PageActionResult

  /// Returns a stream with one element once it watches, and one after each change of what the page shows. Changes that
  /// come faster than they are taken are one element. It is asked for while a page is open, and cancelled with the
  /// last one.
  func changes() -> AsyncStream<Void>
}

/// The outcome of an action; each is a JSON document in UTF-8.
package enum PageActionResult: Hashable, Sendable {
  case answer([UInt8])
  /// What would happen, and the value of `confirmation` with which it does.
  case question([UInt8])
  case failure([UInt8])
}
