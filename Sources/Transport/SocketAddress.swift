import Platform
package import Wire

/// A host and port to dial or listen on, as people write them: `192.168.1.4:7433`, `[::1]:7433`, `nas.local:7433`.
package struct Endpoint: Hashable, Sendable, CustomStringConvertible {
  package let host: String
  package let port: UInt16

  package init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// Parses a host and a port; nil for any other text. An IPv6 address must be in brackets.
  package init?(_ text: String) {
    // `UInt16` also parses a sign and leading zeros, which would be other spellings of the same address.
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
      text.hasSuffix(":\(port)")
    else { return nil }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
      guard host.contains(":") else { return nil }
    } else if host.contains(where: { ":[]".contains($0) }) {
      return nil
    }
    guard !host.isEmpty, host.utf8.count <= 253, !host.utf8.contains(0) else { return nil }
    self.init(host: String(host), port: port)
  }

  package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// A numeric address and a port.
package struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
  /// The address as numeric text; an IPv4-mapped IPv6 address is given as IPv4.
  package let host: String
  package let port: UInt16
  let family: Int32
  /// The system's `sockaddr` structure.
  private let raw: [UInt8]

  package var endpoint: Endpoint { Endpoint(host: host, port: port) }
  package var description: String { endpoint.description }

  package var isLoopback: Bool { host == "::1" || host.hasPrefix("127.") }

  /// The key by which limits count addresses: an IPv4 address, or the /64 network of an IPv6 address, which one
  /// household controls. A link-local address is its own key, because all link-local addresses share one network.
  package var neighbourhood: String {
    guard host.contains(":"), !host.hasPrefix("fe80:"), raw.count >= 16 else { return host }
    return raw[8..<16].map { String($0, radix: 16) }.joined(separator: ":") + "/64"
  }

  /// Whether the host is `0.0.0.0` or `::`, which means every address of this machine.
  package var isUnspecified: Bool { host == "::" || host == "0.0.0.0" }

  private var isMulticast: Bool {
    guard family == AF_INET6, host.contains(":") else {
      return host.split(separator: ".").first.flatMap { UInt8($0) }.map { $0 >= 224 } ?? false
    }
    return host.hasPrefix("ff")
  }

  /// Whether the address is in a private range, or in the network of one of this machine's interfaces. Only such
  /// addresses may try a code.
  package var isNearby: Bool {
    guard !isLoopback, !isLinkLocal, let bytes = hostBytes?.bytes else { return isLoopback || isLinkLocal }
    return Self.privateRanges.contains { $0.contains(bytes) }
      || (NetworkInterface.all ?? []).contains { $0.network?.contains(bytes) ?? false }
  }

  /// 10/8, 172.16/12, 192.168/16, 169.254/16, 100.64/10 and fc00::/7, as IPv6 addresses.
  private static let privateRanges: [AddressRange] = [
    AddressRange(four: [10, 0], bits: 8), AddressRange(four: [172, 16], bits: 12),
    AddressRange(four: [192, 168], bits: 16), AddressRange(four: [169, 254], bits: 16),
    AddressRange(four: [100, 64], bits: 10),
    AddressRange(prefix: [0xfc], mask: [0xfe]),
  ]

  /// Why an address that a person gives can't be dialled, as a clause; nil if it can be. A host name is looked up at
  /// each attempt.
  package static func obstacle(toDialling text: String) -> String? {
    guard let endpoint = Endpoint(text) else { return "expected ADDR:PORT, such as 192.168.1.20:7433" }
    guard endpoint.port > 0 else { return "port 0 can't be dialled" }
    guard let address = numeric(endpoint.host, port: endpoint.port) else {
      return isHostName(endpoint.host) ? nil : "expected a numeric address or a host name, and a port"
    }
    // The system also reads forms such as 127.1 and 0x7f.1 as addresses.
    guard address.host == endpoint.host || endpoint.host.contains(":") else {
      return "expected four numbers from 0 to 255, as in 192.168.1.20:7433"
    }
    if address.isUnspecified || address.host.hasPrefix("0.") {
      return "this is not the address of a single machine"
    }
    if address.host == "255.255.255.255" { return "this is the broadcast address" }
    return address.isMulticast ? "this is a multicast or reserved address" : nil
  }

  /// Whether a text is a host name: labels of letters, digits and hyphens, the last of which is not a number.
  private static func isHostName(_ text: String) -> Bool {
    let labels = text.split(separator: ".", omittingEmptySubsequences: false)
    let isWellFormed = labels.allSatisfy { label in
      !label.isEmpty && label.utf8.count <= 63 && label.first != "-" && label.last != "-"
        && label.unicodeScalars.allSatisfy {
          $0 == "-" || $0 == "_" || !$0.isASCII || $0.properties.isAlphabetic || ("0"..."9").contains($0)
        }
    }
    return isWellFormed && labels.last.map { !$0.allSatisfy { ("0"..."9").contains($0) } } == true
  }

  /// Whether an address that a member announces for itself may be dialled.
  ///
  /// Without this check, one member could make all others connect to services that only they can reach, or resolve
  /// names of its choice. So only numeric addresses are allowed, except those that mean a different machine to each
  /// device that reads them.
  ///
  /// - Parameter isLocal: whether this node is reachable only from its own machine, in which case its peers are on
  ///   loopback.
  package static func mayAnnounce(_ text: String, isLocal: Bool) -> Bool {
    guard let endpoint = Endpoint(text), endpoint.port > 0,
      let address = numeric(endpoint.host, port: endpoint.port)
    else { return false }
    if address.isLoopback { return isLocal }
    return !address.isUnspecified && !address.isMulticast && !address.isLinkLocal
      && !address.host.hasPrefix("169.254.") && !address.host.hasPrefix("0.")
  }

  package static func == (left: SocketAddress, right: SocketAddress) -> Bool {
    left.host == right.host && left.port == right.port
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(host)
    hasher.combine(port)
  }

  // MARK: Conversion to and from the system

  private init?(_ address: UnsafePointer<sockaddr>, _ length: socklen_t) {
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    var service = [CChar](repeating: 0, count: Int(NI_MAXSERV))
    let code = getnameinfo(
      address, length, &host, socklen_t(host.count), &service, socklen_t(service.count),
      NI_NUMERICHOST | NI_NUMERICSERV)
    guard code == 0, let port = UInt16(text(service)) else { return nil }
    let mapped = "::ffff:"
    let name = text(host)
    self.host = name.hasPrefix(mapped) && name.contains(".") ? String(name.dropFirst(mapped.count)) : name
    self.port = port
    family = Int32(address.pointee.sa_family)
    raw = Array(UnsafeRawBufferPointer(start: address, count: Int(length)))
  }

  /// Returns the address that a system call fills in; nil if the call returns false.
  static func filled(
    _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Bool
  ) -> SocketAddress? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        call(address, &length) ? SocketAddress(address, length) : nil
      }
    }
  }

  func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var storage = sockaddr_storage()
    withUnsafeMutableBytes(of: &storage) { $0.copyBytes(from: raw) }
    return withUnsafePointer(to: &storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(raw.count)) }
    }
  }

  /// The address as 16 bytes, without the port: IPv4 as `::ffff:a.b.c.d`, IPv6 without its zone.
  package var hostBytes: Bytes16? {
    if family == AF_INET, raw.count >= 8 {
      return Bytes16([UInt8](repeating: 0, count: 10) + [255, 255] + raw[4..<8])
    }
    return family == AF_INET6 && raw.count >= 24 ? Bytes16(raw[8..<24]) : nil
  }

  var isIPv6: Bool { family == AF_INET6 }

  package var isLinkLocal: Bool { host.hasPrefix("fe80:") }

  /// Reads the address or the mask of an interface; nil unless it is IPv4 or IPv6.
  ///
  /// - Parameter family: the family of the address that a mask belongs to.
  init?(interface address: UnsafeMutablePointer<sockaddr>?, family: Int32? = nil) {
    guard let address else { return nil }
    let family = family ?? Int32(address.pointee.sa_family)
    guard family == AF_INET || family == AF_INET6 else { return nil }
    let (storage, size) = wholeAddress(address, family: family)
    let found = withUnsafePointer(to: storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { SocketAddress($0, size) }
    }
    guard let found else { return nil }
    self = found
  }

  /// Parses a numeric address; nil if the text is not one.
  package static func numeric(_ host: String, port: UInt16) -> SocketAddress? {
    resolve(Endpoint(host: host, port: port), numericOnly: true).first
  }

  // MARK: Name resolution

  /// Returns the addresses of an endpoint, in the system's order of preference. The call blocks unless `numericOnly`.
  static func resolve(_ endpoint: Endpoint, numericOnly: Bool) -> [SocketAddress] {
    var hints = addrinfo()
    hints.ai_flags = AI_NUMERICSERV | (numericOnly ? AI_NUMERICHOST : 0)
    hints.ai_socktype = SocketKind.stream.number
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(endpoint.host, String(endpoint.port), &hints, &list) == 0 else { return [] }
    defer { freeaddrinfo(list) }
    var result: [SocketAddress] = []
    var next = list
    while let entry = next?.pointee, result.count < 16 {
      if let address = entry.ai_addr, let found = SocketAddress(address, entry.ai_addrlen),
        !result.contains(found)
      {
        result.append(found)
      }
      next = entry.ai_next
    }
    return result
  }

  /// Returns the addresses at which other machines may reach this one: those of the interfaces that are up, without
  /// loopback and link-local addresses.
  package static func ofThisMachine(port: UInt16) -> [SocketAddress] {
    var hosts: [String] = []
    for interface in NetworkInterface.all ?? [] where interface.isUp && !hosts.contains(interface.host) {
      hosts.append(interface.host)
    }
    return hosts.flatMap { resolve(Endpoint(host: $0, port: port), numericOnly: true) }.filter {
      !$0.isLoopback && !$0.host.hasPrefix("169.254.") && !$0.host.hasPrefix("fe80:")
    }
  }
}

private func text(_ characters: [CChar]) -> String {
  String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

extension Bytes16 {
  /// An address of 16 bytes as text to dial: `::ffff:a.b.c.d` as `a.b.c.d`, and a link-local address with its zone.
  ///
  /// - Parameter interface: the interface through which the address can be reached.
  package func host(on interface: String) -> String {
    let four = [UInt8](repeating: 0, count: 10) + [255, 255]
    if bytes.starts(with: four) { return bytes.dropFirst(four.count).map(String.init).joined(separator: ".") }
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(AF_INET6, bytes, &text, socklen_t(text.count)) != nil else { return "::" }
    let host = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    return bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80 ? "\(host)%\(interface)" : host
  }
}
