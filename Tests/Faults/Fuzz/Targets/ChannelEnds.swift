import SecureChannel
import Sodium
import Wire

/// One end of a channel, and everything that it sent and received.
struct ChannelEnd: ~Copyable {
  var channel: Channel
  var opening: ChannelOpening?
  var heard: [[UInt8]] = []
  var said: [[UInt8]] = []
  var isOver = false

  init(_ role: ChannelRole, _ staticKey: AgreementKey, _ ephemeral: String) throws {
    let keys = ChannelKeys(
      staticKey: staticKey, ephemeral: Cast.agreement(ephemeral), nonce: Bytes16(1, 2))
    channel = try Channel(role) { keys }
  }

  mutating func takeOutput() -> [UInt8] {
    defer { channel.output = [] }
    return channel.output
  }

  /// Consumes bytes from the wire as the shell does.
  mutating func receive(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty, !isOver {
      let taken = channel.frames.append(rest)
      rest = rest.dropFirst(taken)
      let events = readEvents()
      try require(taken > 0 || events > 0 || isOver, "a full channel makes no progress")
    }
  }

  private mutating func readEvents() -> Int {
    var count = 0
    do throws(ChannelError) {
      while let event = try channel.next() {
        count += 1
        switch event {
        case .recognized: break
        case .opened(let opening): self.opening = opening
        case .message(let message): heard.append(message)
        case .closed: isOver = true
        }
      }
    } catch {
      isOver = true
    }
    return count
  }

  mutating func say(_ message: [UInt8]) throws {
    guard channel.isOpen else { return }
    try channel.send(message)
    said.append(message)
  }

  mutating func hangUp() throws {
    try channel.close()
    // An end that hangs up reads no more.
    isOver = true
  }
}

/// Bytes in flight in one direction.
struct Direction {
  var waiting: [UInt8] = []

  mutating func touch(_ choices: inout Choices) {
    let place = Int(choices.number() & 0x1_ffff)
    guard place < waiting.count else { return }
    switch choices.below(4) {
    case 0: waiting[place] ^= max(1, choices.byte())
    case 1: waiting.remove(at: place)
    case 2: waiting.insert(contentsOf: choices.bytes(max: 64), at: place)
    default: waiting.removeSubrange(place...)
    }
  }

  mutating func take(_ count: Int) -> [UInt8] {
    defer { waiting.removeFirst(min(count, waiting.count)) }
    return Array(waiting.prefix(count))
  }
}

/// A message with its length in front, as on the wire.
func framed(_ message: [UInt8]) -> [UInt8] {
  [UInt8(truncatingIfNeeded: message.count >> 8), UInt8(truncatingIfNeeded: message.count)] + message
}

/// The content of the one frame in the bytes.
func frame(_ bytes: [UInt8]) -> ArraySlice<UInt8>? {
  guard bytes.count >= 2, bytes.count == 2 + Int(bytes[0]) << 8 + Int(bytes[1]) else { return nil }
  return bytes[2...]
}
