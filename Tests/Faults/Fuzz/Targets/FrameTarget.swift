import SecureChannel
import Sodium
import Wire

/// Frames of an open channel, split anywhere: the reader finds every frame, and the opener reassembles the same
/// messages as a plain model.
func fuzzFrames(_ input: [UInt8]) throws {
  var choices = Choices(input)
  var cuts = Choices(choices.take(16))
  let stream = frameStream(&choices)
  var model = FrameModel(stream)
  let expected = model.run()

  var reader = FrameReader(capacity: 2 * (Limits.frameBytesMax + 2))
  var opener = Opener(key: FrameModel.key)
  var found: [FrameModel.Outcome] = []
  var rest = stream[...]
  while true {
    let step = cuts.isAtEnd ? rest.count : min(rest.count, Int(cuts.number() & 0xffff) + 1)
    let taken = reader.append(rest.prefix(step))
    rest = rest.dropFirst(taken)
    while found.last?.isEnd != true, let range = reader.next() {
      do throws(ChannelError) {
        found.append(FrameModel.Outcome(try opener.open(&reader.storage, range)))
      } catch {
        found.append(.refused)
      }
    }
    if rest.isEmpty || found.last?.isEnd == true { break }
    try require(taken > 0 || step == 0, "a full reader returns no frame")
  }
  try require(found == expected, "the frames \(expected) were read as \(found)")
}

/// Sealed fragments of any kind and length, with garbage between them.
private func frameStream(_ choices: inout Choices) -> [UInt8] {
  var stream: [UInt8] = []
  var counter: UInt64 = 0
  for _ in 0..<40 where !choices.isAtEnd {
    switch choices.below(8) {
    case 0...4:
      append(sealed(&choices, &counter), to: &stream)
    case 5: append(choices.bytes(max: Limits.frameBytesMax), to: &stream)
    case 6: stream += choices.bytes(max: 300)
    default:
      let place = Int(choices.number() & 0xff_ffff)
      if place < stream.count { stream[stream.count - 1 - place] ^= choices.byte() }
    }
  }
  return stream
}

private func append(_ frame: [UInt8], to stream: inout [UInt8]) {
  stream += [UInt8(truncatingIfNeeded: frame.count >> 8), UInt8(truncatingIfNeeded: frame.count)] + frame
}

private func sealed(_ choices: inout Choices, _ counter: inout UInt64) -> [UInt8] {
  let contentMax = Limits.frameBytesMax - SymmetricKey.tagBytes - 1
  var frame: [UInt8] = []
  switch choices.below(16) {
  case 0: break
  case 1: frame = [choices.byte()]
  case 2: frame = [0] + [UInt8](repeating: 7, count: contentMax)
  case 3: frame = [1] + [UInt8](repeating: 8, count: contentMax - choices.below(3))
  default: frame = [UInt8(choices.below(4))] + choices.bytes(max: 2_000)
  }
  FrameModel.key.seal(&frame, from: 0, counter: counter)
  counter += 1
  return frame
}

/// The expected output, computed over the whole stream at once.
struct FrameModel {
  enum Outcome: Hashable {
    case partial
    case message([UInt8])
    case closed
    case refused

    init(_ opened: Opener.Opened) {
      switch opened {
      case .partial: self = .partial
      case .message(let bytes): self = .message(bytes)
      case .closed: self = .closed
      }
    }

    /// Nothing is read after it.
    var isEnd: Bool { self == .closed || self == .refused }
  }

  static let key: SymmetricKey = {
    guard let key = try? SymmetricKey([UInt8](repeating: 3, count: SymmetricKey.count)) else {
      preconditionFailure("a key has \(SymmetricKey.count) bytes")
    }
    return key
  }()

  private let stream: [UInt8]
  private var message: [UInt8] = []

  init(_ stream: [UInt8]) { self.stream = stream }

  mutating func run() -> [Outcome] {
    var outcomes: [Outcome] = []
    var start = 0
    while start + 2 <= stream.count {
      let length = Int(stream[start]) * 256 + Int(stream[start + 1])
      guard start + 2 + length <= stream.count else { break }
      let frame = Array(stream[(start + 2)..<(start + 2 + length)])
      outcomes.append(outcome(frame, UInt64(outcomes.count)))
      if outcomes.last?.isEnd == true { break }
      start += 2 + length
    }
    return outcomes
  }

  private mutating func outcome(_ frame: [UInt8], _ counter: UInt64) -> Outcome {
    var buffer = frame
    guard let plain = Self.key.open(&buffer, 0..<buffer.count, counter: counter), !plain.isEmpty else {
      return .refused
    }
    let content = buffer[plain].dropFirst()
    guard message.count + content.count <= Limits.messageBytesMax else { return .refused }
    switch buffer[plain.lowerBound] {
    case 0 where !content.isEmpty:
      message += content
      return .partial
    case 1:
      defer { message = [] }
      return .message(message + content)
    case 2 where content.isEmpty && message.isEmpty: return .closed
    default: return .refused
    }
  }
}
