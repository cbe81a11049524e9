import Replication
import Wire

/// Deterministic CBOR: what the reader accepts is what the writer writes, whichever way it is read.
func fuzzCBOR(_ input: [UInt8]) throws {
  var skipper = CBORReader(input)
  let skipped = (try? skipper.skipValue()).map { $0 == 0..<input.count } ?? false
  guard let value = wholeValue(input) else {
    return try require(!skipped, "a value that is refused when it is read is skipped as good")
  }
  try require(skipped, "a value that is read is refused when it is skipped")
  try require(value.isWritable, "a value was read that may not be written")
  try require(value.encoded == input, "bytes were accepted that nobody writes")
  try require((try? Value(encoded: input[...])) == value, "one value read in two ways")
}

private func wholeValue(_ input: [UInt8]) -> Value? {
  var reader = CBORReader(input)
  guard let value = try? reader.value(), reader.isAtEnd else { return nil }
  return value
}

/// Messages: what is accepted is what would be sent, but for what is read as something else.
func fuzzMessage(_ input: [UInt8]) throws {
  guard let message = try? Message(decoding: input) else { return }
  let encoded = message.encoded
  if !isReadAsAnother(message) {
    try require(encoded == input, "a message was accepted that nobody sends")
  }
  guard let again = try? Message(decoding: encoded) else {
    throw BrokenRule("a message that is sent is not accepted")
  }
  try require(again.encoded == encoded, "a message changes with each reading")
}

/// A reason of a newer peer is read as one that this version knows, a time of change as at most its set's clock.
private func isReadAsAnother(_ message: Message) -> Bool {
  switch message {
  case .summary(let summary): return Lane.allCases.contains { summary[$0].reason == .paused }
  case .refusal(_, let reason): return reason == .paused
  case .goodbye(nil): return true
  case .answer(_, let answer):
    guard case .inventory(let items) = answer.content else { return false }
    return items.contains { $0.rank.map { $0.updatedAt == $0.stamp.clock.milliseconds } ?? false }
  default: return false
  }
}
