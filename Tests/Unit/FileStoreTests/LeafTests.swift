import FileFormat
import Testing
import Vectors
import Wire

@Suite struct LeafTests {
  @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 200_000])
  func `a file hashed in pieces has the same id as in one piece`(size: Int) throws {
    let bytes = vectorContent(size)
    let whole = try #require(FileHasher.list(of: bytes))
    var random = SeededRandom(seed: UInt64(size))
    for _ in 0..<4 {
      var hasher = FileHasher()
      var rest = bytes[...]
      while !rest.isEmpty {
        let piece = rest.prefix(1 + random.below(100_000))
        hasher.update(piece)
        rest = rest.dropFirst(piece.count)
      }
      #expect(hasher.finish() == whole)
    }
  }

  @Test func `the leaves of a file cover it without gaps`() throws {
    for size in [0, 1, 65_535, 65_536, 65_537, 131_072, Limits.fileBytesMax] {
      let file = try #require(FileReference(size: size, id: FileID(.zero)))
      var end = 0
      for index in 0..<file.leafCount {
        let range = file.range(ofLeaf: index)
        #expect(range.lowerBound == end && !range.isEmpty && range.count <= Limits.leafBytes)
        end = range.upperBound
      }
      #expect(end == size)
      #expect(file.byteCount(of: 0..<file.leafCount) == size)
    }
    #expect(FileReference(size: Limits.fileBytesMax + 1, id: FileID(.zero)) == nil)
    #expect(FileReference(size: -1, id: FileID(.zero)) == nil)
  }

  @Test func `a set of leaves finds the runs that are missing`() throws {
    var set = LeafSet(leafCount: 20)
    #expect(set.missing(from: 0, countMax: 16) == 0..<16)
    for index in [0, 1, 2, 7, 8, 19] { set.insert(index) }
    let isNew = set.insert(7)
    #expect(!isNew)
    #expect(set.missing(from: 0, countMax: 16) == 3..<7)
    #expect(set.missing(from: 0, countMax: 2) == 3..<5)
    #expect(set.missing(from: 7, countMax: 16) == 9..<19)
    #expect(set.missing(from: 19, countMax: 1) == nil)
    set.remove(19)
    #expect(set.missing(from: 19, countMax: 16) == 19..<20)
    #expect(set.count == 5)
    for index in 0..<20 { set.insert(index) }
    #expect(set.isComplete)
    #expect(set.missing(from: 0, countMax: 16) == nil)
  }

  @Test func `a stored set of leaves is read only if it fits the file`() throws {
    var set = LeafSet(leafCount: 11)
    for index in [0, 3, 10] { set.insert(index) }
    #expect(LeafSet(leafCount: 11, bytes: set.bytes[...]) == set)
    #expect(LeafSet(leafCount: 10, bytes: set.bytes[...]) == nil)
    #expect(LeafSet(leafCount: 17, bytes: set.bytes[...]) == nil)
    #expect(LeafSet(leafCount: 0, bytes: [])?.isComplete == true)
  }
}
