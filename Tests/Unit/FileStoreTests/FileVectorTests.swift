import FileFormat
import Testing
import Vectors
import Wire

@Suite struct FileVectorTests {
  private struct Document: Decodable {
    struct File: Decodable {
      let size: Int
      let id: String
      let leaves: [String]
      let reference: String
    }

    struct Leaf: Decodable {
      let flag: String
      let name: String
      let size: Int
      let index: Int
      let hash: String
      let bytes: String
    }

    struct List: Decodable {
      let flag: String
      let name: String
      let size: Int
      let id: String
      let leaves: [String]
    }

    struct Reference: Decodable {
      let flag: String
      let name: String
      let value: String
    }

    let files: [File]
    let leaves: [Leaf]
    let lists: [List]
    let references: [Reference]
  }

  private let document: Document

  init() throws { document = try vectors("files.json", as: Document.self) }

  @Test func `files have the leaves and ids of the vectors`() throws {
    for vector in document.files {
      let list = try #require(FileHasher.list(of: vectorContent(vector.size)))
      #expect(list.hashes.map { hexadecimal($0.bytes) } == vector.leaves, "\(vector.size)")
      #expect(list.reference.id.description == vector.id, "\(vector.size)")
      #expect(list.reference.size == vector.size)
      #expect(list.reference.value.encoded == (try expand(vector.reference)), "\(vector.size)")
    }
  }

  @Test func `a leaf verifies only with the right bytes at the right position`() throws {
    for vector in document.leaves {
      let bytes = try expand(vector.bytes)
      let hash = try #require(Bytes32(try expand(vector.hash)))
      let file = try #require(FileReference(size: vector.size, id: FileID(.zero)))
      let isRight =
        vector.index < file.leafCount && bytes.count == file.range(ofLeaf: vector.index).count
        && LeafHash.hash(bytes[...], at: vector.index) == hash
      #expect(isRight == (vector.flag == "none"), "\(vector.name)")
    }
  }

  @Test func `a list is accepted only if it matches the reference`() throws {
    for vector in document.lists {
      let id = try #require(FileID(hex: vector.id))
      let reference = try #require(FileReference(size: vector.size, id: id))
      let hashes = try vector.leaves.map { try #require(Bytes32(try expand($0))) }
      let list = LeafList(reference, hashes: hashes)
      #expect((list != nil) == (vector.flag == "none"), "\(vector.name)")
      let read = LeafList(reference, bytes: hashes.flatMap(\.bytes)[...])
      #expect(read == list, "\(vector.name)")
    }
  }

  @Test func `a value is a file reference only in the form of the vectors`() throws {
    for vector in document.references {
      let value = try? Value(encoded: try expand(vector.value)[...])
      let reference = value.flatMap { FileReference($0) }
      #expect((reference != nil) == (vector.flag == "none"), "\(vector.name)")
      if let reference { #expect(reference.value == value, "\(vector.name)") }
    }
  }
}

/// The bytes of a file in the vectors.
func vectorContent(_ size: Int) -> [UInt8] { (0..<size).map { UInt8(truncatingIfNeeded: $0 / 4_096 + 1) } }
