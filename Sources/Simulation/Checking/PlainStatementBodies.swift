// Protocol/circle.md, "Device certificate", "Revocation", "Entitlement"

/// A device certificate, or the founder's certificate that is implied by the genesis.
struct PlainCertificate {
  let id: Name32
  let issuer: Name32
  let device: Name32
  let transport: Name32
  let isAdmin: Bool
  let issued: UInt64
}

extension PlainCertificate {
  init(_ map: inout PlainMap, issuer: Name32, id: Name32) throws(PlainRefusal) {
    let device = try map.name32(3)
    let transport = try map.name32(4)
    try map.name(5)
    let isAdmin = try map.unsigned(6, 0...1) == 1
    self.init(
      id: id, issuer: issuer, device: device, transport: transport, isAdmin: isAdmin,
      issued: try map.time(7))
  }
}

/// A revocation of a device.
struct PlainRevocation {
  let id: Name32
  let issuer: Name32
  let device: Name32
  /// The kept tips of each named log.
  let kept: [PlainLog: Set<Name32>]
  let valid: Set<Name32>

  init(_ map: inout PlainMap, issuer: Name32, id: Name32) throws(PlainRefusal) {
    self.id = id
    self.issuer = issuer
    device = try map.name32(3)
    kept = try Self.kept(&map, of: device)
    valid = try map.has(5) ? Set(map.ascending(5)) : []
    _ = try map.time(6)
  }

  private static func kept(
    _ map: inout PlainMap, of device: Name32
  ) throws(PlainRefusal) -> [PlainLog: Set<Name32>] {
    guard let item = map.take(4) else { return [:] }
    guard let items = item.array, !items.isEmpty else { throw map.wrong(4) }
    var kept: [PlainLog: Set<Name32>] = [:]
    var last: (Name16, UInt64)?
    for item in items {
      guard let parts = item.array, parts.count == 3, let incarnation = parts[0].name16(in: map.bytes),
        let lane = parts[1].unsigned, lane <= 1
      else { throw map.wrong(4) }
      if let last, last >= (incarnation, lane) { throw map.wrong(4) }
      last = (incarnation, lane)
      let log = PlainLog(device: device, incarnation: incarnation, lane: Int(lane))
      kept[log] = Set(try map.ascending(parts[2], key: 4))
    }
    return kept
  }
}

/// An issuer's statement that a circle, or some of its devices, have premium for a period of time.
struct PlainEntitlement {
  let issuer: Name32
  /// The entitled devices; nil for the whole circle.
  let devices: [Name32]?
  let issued: UInt64
  let notBefore: UInt64
  let notAfter: UInt64

  init(_ map: inout PlainMap, issuer: Name32) throws(PlainRefusal) {
    self.issuer = issuer
    devices = try map.has(3) ? map.ascending(3) : nil
    guard (devices?.count ?? 1) <= 64 else { throw map.wrong(3) }
    try map.name(4)
    issued = try map.time(5)
    notBefore = try map.time(6)
    notAfter = try map.time(7)
    guard notBefore < notAfter else { throw map.wrong(7) }
    _ = try map.name16(8)
    try map.name(9)
  }
}

extension PlainMap {
  /// Reads a time in milliseconds, which must fit into 48 bits.
  mutating func time(_ key: UInt64) throws(PlainRefusal) -> UInt64 { try unsigned(key, 0...(1 << 48 - 1)) }

  /// Reads a name: text of 1 to 64 bytes without characters that control a terminal or can't be seen.
  mutating func name(_ key: UInt64) throws(PlainRefusal) {
    let text = try text(key, 1...64)
    let isShown = String(decoding: text, as: UTF8.self).unicodeScalars.allSatisfy { scalar in
      switch scalar.value {
      case 0...0x1f, 0x7f...0x9f: false
      case 0x2028...0x202e, 0x2066...0x206f, 0x61c, 0x200e, 0x200f: false
      case 0xad, 0x34f, 0x115f...0x1160, 0x17b4...0x17b5, 0x180b...0x180f, 0x200b...0x200d, 0x2060...0x2065:
        false
      case 0x2800, 0x3164, 0xfeff, 0xffa0, 0xfff0...0xfffb, 0x1bca0...0x1bca3, 0x1d173...0x1d17a: false
      case 0xe0000...0xe0fff: false
      default: true
      }
    }
    guard isShown else { throw wrong(key) }
  }

  /// Reads one or more names of 32 bytes in strictly ascending order.
  mutating func ascending(_ key: UInt64) throws(PlainRefusal) -> [Name32] {
    try ascending(try need(key), key: key)
  }

  func ascending(_ item: PlainItem, key: UInt64) throws(PlainRefusal) -> [Name32] {
    guard let items = item.array, !items.isEmpty else { throw wrong(key) }
    var names: [Name32] = []
    for item in items {
      guard let name = item.name32(in: bytes) else { throw wrong(key) }
      if let last = names.last, last >= name { throw wrong(key) }
      names.append(name)
    }
    return names
  }
}
