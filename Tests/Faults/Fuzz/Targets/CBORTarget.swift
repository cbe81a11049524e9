import Replication
import Wire

/// Deterministic CBOR: what the reader accepts is exactly what the writer writes, through every way of reading.
func fuzzCBOR(_ input: [UInt8]) throws {
  var skipper = CBORReader(input)
  let skipped = (try? skipper.skipValue()).map { $0 == 0..<input.count } ?? false
  guard let value = wholeValue(input) else {
    return try require(!skipped, "a value is rejected when read, but accepted when skipped")
  }
  try require(skipped, "a value is accepted when read, but rejected when skipped")
  try require(value.isWritable, "an unwritable value was accepted")
  try require(value.encoded == input, "a non-canonical encoding was accepted")
  try require((try? Value(encoded: input[...])) == value, "reading a value twice gave different results")
}

private func wholeValue(_ input: [UInt8]) -> Value? {
  var reader = CBORReader(input)
  guard let value = try? reader.value(), reader.isAtEnd else { return nil }
  return value
}

/// Messages: an accepted message re-encodes to the same bytes, except for values that are mapped when they are read.
func fuzzMessage(_ input: [UInt8]) throws {
  guard let message = try? Message(decoding: input) else { return }
  let encoded = message.encoded
  if !isReadAsAnother(message) {
    try require(encoded == input, "a non-canonical message was accepted")
  }
  guard let again = try? Message(decoding: encoded) else {
    throw BrokenRule("an encoded message is rejected")
  }
  try require(again.encoded == encoded, "a message changes when it is re-encoded")
}

/// An unknown reason of a newer peer is read as a known one, and a time of change is capped at its set's clock.
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
