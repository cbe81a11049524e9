// Protocol/pairing-code.md, "The announcement" and "Choosing an offer".

package import Sodium
package import Wire

/// A datagram by which a device says that it shows a code. It names neither a circle nor a device key.
package struct CodeAnnouncement: Hashable, Sendable {
  /// The key that signs the announcements of this offer only, so that no one can add an address to the offer.
  package let offer: Bytes32
  /// The address that the datagram is sent from, as in a beacon.
  package let host: Bytes16
  /// The TCP port to dial.
  package let port: UInt16
  /// The name that the device has in its circle. Anyone may announce any name.
  package let name: String

  static let version: UInt8 = 2
  private static let hostRange = 33..<49
  private static let nameStart = 52
  private static let signatureStart = nameStart + Limits.nameBytesMax
  /// The length of every announcement. No beacon has this length.
  package static let bytes = signatureStart + 64

  /// Whether a datagram may be an announcement, judged without any cryptography.
  package static func isPlausible(_ datagram: [UInt8]) -> Bool {
    datagram.count == bytes && datagram[0] == version
  }

  /// Returns the signed datagram.
  ///
  /// - Parameter key: a key that is new for each offer.
  package static func sealed(host: Bytes16, port: UInt16, name: String, by key: SigningKey) -> [UInt8] {
    let text = Array(name.utf8.prefix(Limits.nameBytesMax))
    let padding = [UInt8](repeating: 0, count: Limits.nameBytesMax - text.count)
    let head =
      [version] + key.publicKey + host.bytes + [UInt8(port >> 8), UInt8(truncatingIfNeeded: port)]
      + [UInt8(text.count)] + text + padding
    return head + key.sign(prefix: Prefix.codeAnnouncement.bytes, head)
  }

  /// Opens a datagram. Returns nil if it is damaged, or if its parts are not allowed.
  package init?(_ datagram: [UInt8]) {
    guard Self.isPlausible(datagram), let offer = Bytes32(datagram[1..<33]),
      let host = Bytes16(datagram[Self.hostRange])
    else { return nil }
    let port = UInt16(datagram[49]) << 8 | UInt16(datagram[50])
    let count = Int(datagram[51])
    guard port != 0, (1...Limits.nameBytesMax).contains(count) else { return nil }
    let field = datagram[Self.nameStart..<Self.signatureStart]
    guard let name = String(validating: field.prefix(count), as: UTF8.self), isName(name),
      field.dropFirst(count).allSatisfy({ $0 == 0 })
    else { return nil }
    let (head, signature) = (datagram[..<Self.signatureStart], datagram[Self.signatureStart...])
    guard
      Signature.verify(
        Array(signature), prefix: Prefix.codeAnnouncement.bytes, message: Array(head),
        publicKey: offer.bytes)
    else { return nil }
    (self.offer, self.host, self.port, self.name) = (offer, host, port, name)
  }
}

/// The offers of codes that a joiner has heard on its network. A value without a clock.
package struct HeardOffers: Sendable {
  /// One offer, with the addresses from which it was announced.
  package struct Offer: Hashable, Sendable {
    package let name: String
    /// The text `ADDR:PORT` of each address, in the order in which they were heard.
    package fileprivate(set) var addresses: [String]
  }

  private var offers: [Bytes32: Offer] = [:]
  private var order: [Bytes32] = []
  /// Whether more offers were heard than are kept.
  package private(set) var isCutOff = false

  package init() {}

  /// The offers, in the order in which they were heard.
  package var all: [Offer] { order.compactMap { offers[$0] } }

  /// Adds an announcement. It is ignored if it announces another address than the one that it came from, as one does
  /// that is replayed.
  ///
  /// - Parameter address: the text to dial for the source of the datagram and the announced port.
  package mutating func add(_ announcement: CodeAnnouncement, from source: Bytes16, dialling address: String)
  {
    guard announcement.host == source else { return }
    if let known = offers[announcement.offer] {
      guard known.name == announcement.name, known.addresses.count < Limits.foundAddressesMax,
        !known.addresses.contains(address)
      else { return }
      offers[announcement.offer]?.addresses.append(address)
    } else if offers.count < Limits.codeOffersMax {
      offers[announcement.offer] = Offer(name: announcement.name, addresses: [address])
      order.append(announcement.offer)
    } else {
      isCutOff = true
    }
  }
}
