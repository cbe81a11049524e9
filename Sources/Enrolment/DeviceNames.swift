import Home
package import LogStorage
package import Membership
import Reasons
package import Wire

/// The names of a circle's devices. The name of a device is the one that it was given on this device, or else the one
/// in its certificate.
package struct DeviceNames {
  package let given: [DeviceKey: String]
  package let circle: Circle

  package init(given: [DeviceKey: String], circle: Circle) {
    self.given = given
    self.circle = circle
  }

  /// Returns the name under which people see a device. If it looks like the name of another member, the beginning of the
  /// device's id follows, as in `phone (3f2a91c0)`.
  package func name(of device: DeviceKey) -> String {
    guard let name = plainName(of: device) else { return shortID(device) }
    let form = skeleton(name)
    let isAmbiguous = circle.evaluation.members.keys.contains { other in
      other != device && plainName(of: other).map(skeleton) == form
    }
    return isAmbiguous ? "\(name) (\(shortID(device)))" : name
  }

  /// The name that this device's owner or the circle gave a device; nil for one that the circle does not know.
  private func plainName(of device: DeviceKey) -> String? {
    given[device] ?? circle.evaluation.known(device)?.name
  }

  private func shortID(_ device: DeviceKey) -> String { String(device.description.prefix(8)) }

  /// Checks a name that this device is to use for a peer. Returns nil if the name is empty or the peer's own, which
  /// means that the given name is to be removed.
  ///
  /// - Throws: `WaymarkError` with the code `bad_value` if the name is invalid or taken.
  package func checked(_ name: String, for peer: Member) throws -> String? {
    if name.isEmpty || name == peer.name { return nil }
    guard isName(name), name.contains(where: { !$0.isWhitespace }), !name.hasPrefix("-") else {
      throw WaymarkError.badValue(
        "NAME", name,
        allowed:
          "use one line of at most 64 bytes without invisible characters that does not begin with a dash")
    }
    let taken = circle.evaluation.members.values.first { member in
      guard member.device != peer.device else { return false }
      return [given[member.device], member.name].contains { $0.map { lookAlike($0, name) } ?? false }
    }
    guard taken == nil else {
      throw WaymarkError.badValue(
        "NAME", name, allowed: "another device of the circle has this name, or one that looks like it")
    }
    return name
  }

  /// Returns the name of the key that signed a statement: the name of a device, or “the root key”.
  package func signer(_ key: DeviceKey) -> String {
    key == circle.genesis.root ? "the root key" : name(of: key)
  }

  /// Returns a list such as `records 3 of phone, settings 1 of laptop`, followed by the number of sets that it omits.
  package func list(_ sets: [DamagedSet]) -> String {
    let named = sets.prefix(Self.setsListedMax).map {
      "\($0.log.lane) \($0.sequence) of \(name(of: $0.log.device))"
    }
    let more = sets.count - named.count
    return named.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
  }

  private static let setsListedMax = 3

  // MARK: Peers by name

  /// Returns the only peer that a text can mean by name or id, in full or as a prefix.
  ///
  /// - Parameter device: this device, which is not its own peer.
  /// - Throws: `WaymarkError` with the code `not_found` or `ambiguous`.
  package func peer(named name: String, besides device: DeviceKey) throws -> Member {
    let found = peers(matching: name, besides: device)
    guard let first = found.first else {
      throw WaymarkError.notFound("peer", name, next: .waymark("peers"))
    }
    guard found.count == 1 else {
      throw WaymarkError.ambiguous("peer", name, found.map { "\(self.name(of: $0.device))  \($0.device)" })
    }
    return first
  }

  /// Returns the peers that a text can mean by certificate name, local name or id: the exact matches or, if there are
  /// none, the peers whose name or id begins with the text.
  package func peers(matching name: String, besides device: DeviceKey) -> [Member] {
    let folded = name.lowercased()
    let others = circle.evaluation.members.values.filter { $0.device != device }
      .sorted { ($0.name, $0.device) < ($1.name, $1.device) }
    func names(_ peer: Member) -> [String] {
      [given[peer.device], peer.name, self.name(of: peer.device)].compactMap(\.self)
    }
    let exact = others.filter { names($0).contains(name) || $0.device.description == folded }
    guard exact.isEmpty, !folded.isEmpty else { return exact }
    return others.filter { peer in
      peer.device.description.hasPrefix(folded)
        || names(peer).contains { $0.lowercased().hasPrefix(folded) }
    }
  }
}
