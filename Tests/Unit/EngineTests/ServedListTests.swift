import Testing
import Wire

@testable import Engine
@testable import FileFormat

/// The lists of files that were served lately: which of them are read again.
@Suite struct ServedListTests {
  private final class Shelf {
    private var lists = ServedLists()
    private var made = 0

    /// Serves a list, and returns whether it had to be read.
    func reads(_ list: LeafList) -> Bool {
      let before = made
      let served = lists.list(of: list.reference) {
        made += 1
        return list
      }
      #expect(served == list)
      return made > before
    }

    func remove(_ list: LeafList) { lists.remove(list.reference) }
  }

  private func list(_ number: UInt64, leaves: Int = 1) throws -> LeafList {
    let hashes = (0..<UInt64(leaves)).map { Bytes32(0, 0, number, $0) }
    return try #require(LeafList(size: leaves * Limits.leafBytes, hashed: hashes))
  }

  @Test func `of too many lists the one that was not used for the longest time is dropped`() throws {
    let shelf = Shelf()
    let lists = try (UInt64(0)..<65).map { try list($0) }
    for list in lists.prefix(64) { #expect(shelf.reads(list)) }
    // The oldest one is used again, so the second one is dropped for the next.
    #expect(!shelf.reads(lists[0]))
    #expect(shelf.reads(lists[64]))
    #expect(!shelf.reads(lists[0]))
    #expect(!shelf.reads(lists[2]))
    #expect(shelf.reads(lists[1]))
    #expect(shelf.reads(lists[3]), "it was dropped for the one before")
    // A list of damaged bytes is not served again.
    shelf.remove(lists[0])
    #expect(shelf.reads(lists[0]))
    #expect(!shelf.reads(lists[64]))
  }

  @Test func `lists are limited by their hashes together, and a removed one gives its room back`() throws {
    let shelf = Shelf()
    let (first, second) = (try list(1, leaves: 3_000), try list(2, leaves: 3_000))
    #expect(shelf.reads(first))
    #expect(shelf.reads(second))
    #expect(!shelf.reads(second))
    #expect(shelf.reads(first), "both together are too long")
    for _ in 0..<2 { shelf.remove(first) }
    let (small, medium) = (try list(3), try list(4, leaves: 1_000))
    for list in [small, second, medium] { #expect(shelf.reads(list)) }
    for list in [small, second, medium] { #expect(!shelf.reads(list)) }
    // One list may be longer, and then it is the only one.
    let long = try list(5, leaves: 5_000)
    #expect(shelf.reads(long))
    #expect(!shelf.reads(long))
    #expect(shelf.reads(small))
    #expect(shelf.reads(long))
  }
}
