// Protocol/channel.md, "Sealed frames".

package import Sodium
package import Wire

/// The result of a handshake: the other end's key, and a cipher for each direction.
package struct SealedChannel: ~Copyable {
  package let remoteKey: TransportKey
  /// A hash that identifies this channel. A device that joins a circle signs it.
  package let handshakeHash: Bytes32
  package var sealer: Sealer
  package var opener: Opener
}

/// The byte that precedes the content in every sealed frame.
enum FragmentHeader: UInt8 {
  /// A fragment of a message; at least one more follows.
  case more = 0
  /// The last fragment of a message, or the whole message.
  case last = 1
  /// The end of the channel. Nothing follows.
  case close = 2

  static let bytes = 1
  /// How many bytes of a message fit into one frame.
  static let contentBytesMax = Limits.frameBytesMax - SymmetricKey.tagBytes - bytes
}

/// The sending half of a channel. It splits messages into fragments and seals each fragment in a frame.
package struct Sealer: ~Copyable {
  let key: SymmetricKey
  private var counter: UInt64

  /// Starts with the frame number `counter`, which only tests set.
  package init(key: SymmetricKey, counter: UInt64 = 0) {
    self.key = key
    self.counter = counter
  }

  /// Appends the frames of one message to `output`.
  package mutating func seal(_ message: [UInt8], into output: inout [UInt8]) throws(ChannelError) {
    guard message.count <= Limits.messageBytesMax else { throw .messageTooLarge }
    var start = 0
    repeat {
      let end = min(start + FragmentHeader.contentBytesMax, message.count)
      try append(end == message.count ? .last : .more, message[start..<end], to: &output)
      start = end
    } while start < message.count
  }

  /// Appends the frame that ends the channel.
  package mutating func sealClose(into output: inout [UInt8]) throws(ChannelError) {
    try append(.close, [], to: &output)
  }

  private mutating func append(
    _ header: FragmentHeader, _ content: ArraySlice<UInt8>, to output: inout [UInt8]
  ) throws(ChannelError) {
    guard counter < UInt64.max else { throw .exhausted }
    let length = FragmentHeader.bytes + content.count + SymmetricKey.tagBytes
    appendFrameLength(length, to: &output)
    let start = output.count
    output.append(header.rawValue)
    output.append(contentsOf: content)
    key.seal(&output, from: start, counter: counter)
    counter += 1
  }
}

/// The receiving half of a channel. It opens frames and reassembles messages.
package struct Opener: ~Copyable {
  /// The result of opening one frame.
  package enum Opened: Hashable, Sendable {
    /// A fragment of a message that is not complete yet.
    case partial
    case message([UInt8])
    /// The other end closed the channel. Anything that follows is ignored.
    case closed
  }

  private let key: SymmetricKey
  private var counter: UInt64
  private var partial: [UInt8] = []
  private static let restBytes = 1_024

  /// Starts with the frame number `counter`, which only tests set.
  package init(key: SymmetricKey, counter: UInt64 = 0) {
    self.key = key
    self.counter = counter
  }

  /// Whether only a part of a message has been received so far.
  package var isMidMessage: Bool { !partial.isEmpty }

  /// Decrypts, in place, the frame whose content is `range` of the buffer.
  package mutating func open(
    _ buffer: inout [UInt8], _ range: Range<Int>
  ) throws(ChannelError) -> Opened {
    guard counter < UInt64.max else { throw .exhausted }
    guard let plain = key.open(&buffer, range, counter: counter), let first = plain.first,
      let header = FragmentHeader(rawValue: buffer[first])
    else { throw .violation }
    counter += 1
    return try take(header, buffer[(first + FragmentHeader.bytes)..<plain.upperBound])
  }

  private mutating func take(
    _ header: FragmentHeader, _ content: ArraySlice<UInt8>
  ) throws(ChannelError) -> Opened {
    guard partial.count + content.count <= Limits.messageBytesMax else { throw .violation }
    switch header {
    case .more:
      // With empty fragments, a peer could cause work forever without ever reaching the size limit of a message.
      guard !content.isEmpty else { throw .violation }
      // Most long messages are leaves of files, which need little more than one frame.
      if partial.isEmpty { partial.reserveCapacity(content.count + Self.restBytes) }
      partial.append(contentsOf: content)
      return .partial
    case .last:
      if partial.isEmpty { return .message(Array(content)) }
      partial.append(contentsOf: content)
      let message = partial
      partial = []
      return .message(message)
    case .close:
      guard content.isEmpty, partial.isEmpty else { throw .violation }
      return .closed
    }
  }
}
