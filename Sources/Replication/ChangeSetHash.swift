// Protocol/encoding.md, "Hashes and signatures"

import Sodium
package import Wire

/// The domain separator of a hash or signature: ASCII text that ends with a zero byte.
package struct HashPrefix: Sendable {
  package let bytes: [UInt8]

  package init(_ text: StaticString) {
    bytes = text.withUTF8Buffer { unsafe Array($0) }
    precondition(bytes.last == 0, "a hash prefix must end with a zero byte")
  }
}

/// Returns the BLAKE2b-256 hash of a prefix followed by one message.
package func blake2b256(_ prefix: HashPrefix, _ message: [UInt8]) -> Bytes32 {
  Bytes32(words: Blake2b256.hash(prefix: prefix.bytes, message))
}

/// Returns the BLAKE2b-256 hash of a prefix followed by several parts.
package func blake2b256(_ prefix: HashPrefix, parts: [[UInt8]]) -> Bytes32 {
  Bytes32(words: Blake2b256.hash(prefix: prefix.bytes, parts: parts))
}

/// Returns the BLAKE2b-256 hash of bytes that already begin with their prefix.
package func blake2b256(prefixed message: [UInt8]) -> Bytes32 {
  Bytes32(words: Blake2b256.hash(message))
}

extension Bytes32 {
  init(words: HashWords) { self.init(words.0, words.1, words.2, words.3) }
}
