// Protocol/discovery.md, "Keys" and "Format".

package import Sodium
package import Wire

/// The content of a beacon: where its recipients can dial the sender.
package struct Beacon: Hashable, Sendable {
  /// The time on the sender's wall clock, which is later in each beacon than in the sender's previous one.
  package let time: Int64
  /// The address that the datagram is sent from. An IPv4 address is written as `::ffff:a.b.c.d`.
  package let host: Bytes16
  /// The TCP port to dial.
  package let port: UInt16

  /// - Precondition: `time` fits into 48 bits, and `port` is not 0.
  package init(time: Int64, host: Bytes16, port: UInt16) {
    precondition((0...Limits.timeMillisecondsMax).contains(time) && port != 0, "a beacon of \(time), \(port)")
    self.time = time
    self.host = host
    self.port = port
  }

  static let version: UInt8 = 1
  static let nonceRange = 1..<17
  static let slotBytes = 24
  static let markBytes = 8
  static let bodyBytes = 24
  static let sealedBytes = bodyBytes + 64 + 16
  /// The numbers of slots that a beacon may have.
  package static let slotCounts = [4, 8, 16]
  package static let slotsMax = 16

  private static func slotsEnd(_ count: Int) -> Int { nonceRange.upperBound + slotBytes * count }

  /// The lengths that a beacon may have. Datagrams of any other length are rejected without being read.
  package static let lengths = slotCounts.map { slotsEnd($0) + sealedBytes }

  /// Whether a datagram may be a beacon, judged by its length and version alone, without any cryptography.
  package static func isPlausible(_ datagram: [UInt8]) -> Bool {
    lengths.contains(datagram.count) && datagram[0] == version
  }

  fileprivate var body: [UInt8] {
    let bits = UInt64(clamping: time)
    let time = (0..<6).map { UInt8(truncatingIfNeeded: bits >> UInt64(40 - 8 * $0)) }
    return time + host.bytes + [UInt8(port >> 8), UInt8(truncatingIfNeeded: port)]
  }

  fileprivate init?(body: ArraySlice<UInt8>) {
    let bytes = Array(body)
    guard bytes.count == Self.bodyBytes, let host = Bytes16(bytes[6..<22]) else { return nil }
    time = bytes[..<6].reduce(0) { $0 << 8 | Int64($1) }
    self.host = host
    port = UInt16(bytes[22]) << 8 | UInt16(bytes[23])
    guard port != 0 else { return nil }
  }
}

/// The keys that this device shares with each other member: one key per direction.
package struct BeaconKeys: Sendable {
  private struct Pair: Sendable {
    let device: DeviceKey
    let transport: TransportKey
    let outgoing: SymmetricKey
    let incoming: SymmetricKey
  }

  private let circle: CircleID
  private let own: AgreementKey
  private let ownTransport: TransportKey
  /// The keys shared with each member, in ascending order of the members' device keys.
  private var pairs: [Pair] = []

  /// Creates an empty collection of keys. Members are added with `update(_:)`.
  package init(circle: CircleID, transport: AgreementKey) {
    self.circle = circle
    own = transport
    guard let raw = Bytes32(transport.publicKey) else { preconditionFailure("a public key has 32 bytes") }
    ownTransport = TransportKey(raw)
  }

  /// Replaces the members. Keys that already exist are not computed again.
  package mutating func update(_ members: [(device: DeviceKey, transport: TransportKey)]) {
    let known = Dictionary(pairs.map { ($0.device, $0) }) { first, _ in first }
    pairs = members.filter { $0.transport != ownTransport }.sorted { $0.device < $1.device }.compactMap {
      device, transport in
      if let pair = known[device], pair.transport == transport { return pair }
      // Only a malicious member has a public key that makes the shared secret zero. Such a member gets no keys.
      guard let shared = try? own.sharedSecret(with: transport.bytes) else { return nil }
      guard let outgoing = key(shared, from: ownTransport, to: transport),
        let incoming = key(shared, from: transport, to: ownTransport)
      else { return nil }
      return Pair(device: device, transport: transport, outgoing: outgoing, incoming: incoming)
    }
  }

  private func key(_ shared: SymmetricKey, from: TransportKey, to: TransportKey) -> SymmetricKey? {
    var bytes = shared.hashed(after: Prefix.beaconPair.bytes + circle.bytes + from.bytes + to.bytes)
    defer { wipe(&bytes) }
    return try? SymmetricKey(bytes)
  }

  // MARK: Sealing

  /// Seals a beacon for the given devices. Devices that are not members are left out.
  ///
  /// - Parameters:
  ///   - devices: the recipients, of which there are at most `Beacon.slotsMax`.
  ///   - nonce: a value that must be new for each datagram, as must `secret`.
  package func seal(
    _ beacon: Beacon, to devices: Set<DeviceKey>, by signer: SigningKey, nonce: Bytes16, secret: Bytes16
  ) -> [UInt8] {
    precondition(devices.count <= Beacon.slotsMax, "a beacon for \(devices.count) members")
    var slots = pairs.filter { devices.contains($0.device) }.map { slot($0.outgoing, nonce, secret) }
    let count = Beacon.slotCounts.first { $0 >= slots.count } ?? Beacon.slotsMax
    for index in 0..<(count - slots.count) {
      let fill = Prefix.beaconFill.hash(nonce.bytes, secret.bytes, [UInt8(index)]).bytes
      slots.append(Array(fill.prefix(Beacon.slotBytes)))
    }
    // The slots look like random bytes, so once they are sorted, their order does not reveal which members they are
    // for.
    slots.sort { $0.lexicographicallyPrecedes($1) }
    let head = [Beacon.version] + nonce.bytes + slots.joined()
    let body = beacon.body
    let signature = signer.sign(prefix: Prefix.beaconSignature.bytes, circle.bytes + head + body)
    var sealed = body + signature
    sealKey(nonce, secret)?.seal(&sealed, from: 0, counter: 0, associatedData: head)
    return head + sealed
  }

  private func slot(_ key: SymmetricKey, _ nonce: Bytes16, _ secret: Bytes16) -> [UInt8] {
    let mask = mask(key, nonce)
    let hidden = zip(mask[Beacon.markBytes..<Beacon.slotBytes], secret.bytes).map { $0 ^ $1 }
    return mask[..<Beacon.markBytes] + hidden
  }

  private func mask(_ key: SymmetricKey, _ nonce: Bytes16) -> [UInt8] {
    key.hashed(after: Prefix.beaconSlot.bytes + nonce.bytes)
  }

  private func sealKey(_ nonce: Bytes16, _ secret: Bytes16) -> SymmetricKey? {
    try? SymmetricKey(Prefix.beaconSeal.hash(nonce.bytes, secret.bytes).bytes)
  }

  // MARK: Opening

  /// Opens a datagram. Returns nil if it is not a beacon for this device, or if it is damaged.
  package func open(_ datagram: [UInt8]) -> (sender: DeviceKey, beacon: Beacon)? {
    guard Beacon.isPlausible(datagram), let nonce = Bytes16(datagram[Beacon.nonceRange]) else { return nil }
    let end = datagram.count - Beacon.sealedBytes
    guard let (pair, secret) = find(datagram[Beacon.nonceRange.upperBound..<end], nonce),
      let key = sealKey(nonce, secret)
    else { return nil }
    let head = Array(datagram[..<end])
    var sealed = Array(datagram[end...])
    guard let plain = key.open(&sealed, 0..<sealed.count, counter: 0, associatedData: head) else {
      return nil
    }
    let body = Array(sealed[plain].prefix(Beacon.bodyBytes))
    let signature = Array(sealed[plain].dropFirst(Beacon.bodyBytes))
    // All recipients know the secret, so only the signature proves who sent the beacon.
    guard pair.device.hasSigned(circle.bytes + head + body, .beaconSignature, signature),
      let beacon = Beacon(body: body[...])
    else { return nil }
    return (pair.device, beacon)
  }

  /// Finds the slot that a member filled for this device. Returns the keys shared with that member and the secret in
  /// the slot.
  private func find(_ slots: ArraySlice<UInt8>, _ nonce: Bytes16) -> (Pair, Bytes16)? {
    let starts = stride(from: slots.startIndex, to: slots.endIndex, by: Beacon.slotBytes)
    let marks = Dictionary(starts.map { (bigEndianWord(slots, at: $0), $0) }) { first, _ in first }
    for pair in pairs {
      let mask = mask(pair.incoming, nonce)
      guard let start = marks[bigEndianWord(mask[...], at: 0)] else { continue }
      let hidden = slots[(start + Beacon.markBytes)..<(start + Beacon.slotBytes)]
      let secret = zip(mask[Beacon.markBytes..<Beacon.slotBytes], hidden).map { $0 ^ $1 }
      return Bytes16(secret).map { (pair, $0) }
    }
    return nil
  }
}
