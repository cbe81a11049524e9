// Protocol/discovery.md, "As DNS services": the names and the TXT records of services that carry beacons.

/// The name and the TXT record of a service that carries a beacon.
package enum BeaconRecord {
  /// The number of hexadecimal digits in the name of a service.
  package static let nameDigits = 16
  /// The largest piece of a beacon in one string of the record, in bytes. With its key, a string has at most 255.
  static let pieceBytesMax = 252
  /// The size of the largest record that may have a beacon in it, in bytes.
  static let recordBytesMax = 1_024

  /// Returns the name of a service for a random number. It says nothing about the device.
  package static func name(random: UInt64) -> String {
    let digits = String(random, radix: 16)
    return String(repeating: "0", count: nameDigits - digits.count) + digits
  }

  /// Returns the record for a beacon: its pieces under the keys `0`, `1`, `2`.
  package static func encoded(_ beacon: [UInt8]) -> [UInt8] {
    stride(from: 0, to: beacon.count, by: pieceBytesMax).enumerated().flatMap { index, start -> [UInt8] in
      let piece = beacon[start..<min(start + pieceBytesMax, beacon.count)]
      let key = Array("\(index)=".utf8)
      return [UInt8(key.count + piece.count)] + key + piece
    }
  }

  /// Returns the beacon in a record; nil if the record has another form. Strings with other keys are ignored.
  package static func beacon(in record: [UInt8]) -> [UInt8]? {
    guard record.count <= recordBytesMax else { return nil }
    var (rest, pieces) = (record[...], [UInt8: ArraySlice<UInt8>]())
    while let length = rest.first.map(Int.init) {
      guard rest.count > length else { return nil }
      let string = rest.dropFirst().prefix(length)
      rest = rest.dropFirst(1 + length)
      guard let key = string.first, string.dropFirst().first == UInt8(ascii: "="), pieces[key] == nil else {
        continue
      }
      pieces[key] = string.dropFirst(2)
    }
    var beacon: [UInt8] = []
    for key in UInt8(ascii: "0")...UInt8(ascii: "9") {
      guard let piece = pieces[key] else { break }
      beacon += piece
    }
    return beacon.isEmpty ? nil : beacon
  }
}
