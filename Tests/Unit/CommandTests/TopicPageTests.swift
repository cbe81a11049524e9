import Console
import Testing

@testable import WaymarkCommand

/// The pages of `waymark help` about a subject.
struct TopicPageTests {
  private func page(_ words: [String]) throws -> [String] {
    var page = Page(width: 80, hasColor: false)
    let isThere = HelpPages.write(words, into: &page)
    try #require(isThere, "\(words)")
    return page.lines
  }

  @Test func `a page begins with its title, and is found by the words of its name, too`() throws {
    for topic in HelpTopic.all {
      let lines = try page([topic.name])
      #expect(!topic.title.isEmpty && lines.first == topic.title, "\(topic.name)")
      #expect(lines.count > 1, "\(topic.name)")
      #expect(try page(topic.name.split(separator: "-").map(String.init)) == lines, "\(topic.name)")
    }
  }
}
