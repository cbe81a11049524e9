import Platform
import JSONDocument
package import Purchases
import Reasons
import Wire

/// Settings of the command line that are not flags: from the environment, then from the file `config.json` of the home.
///
/// ```json
/// { "name": "laptop", "listen": "[::]:7433", "peers": ["192.168.1.20:7433"], "discovery": true,
///   "followSync": false,
///   "purchases": { "apps": [{ "bundle": "com.example.trips", "products": ["com.example.trips.yearly"] }] } }
/// ```
package struct Configuration: Hashable, Sendable {
  /// The name that `init` and `join` give a device that has no name yet. `rename` changes it later.
  package var name: String?
  /// The address to listen on, `ADDR:PORT`.
  package var listen: String?
  /// Addresses to dial, each `ADDR:PORT`.
  package var peers: [String] = []
  /// Whether the node discovers its peers on the local networks.
  package var discovery = true
  /// Whether this device turns sync on when another device invites it to.
  package var followSync = false
  /// Which purchases in the App Store give premium; nil for none.
  package var purchases: PurchasePolicy?

  /// - Throws: `WaymarkError` that says what in the file is invalid.
  package init(
    home: Home, environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws {
    if FileManager.default.fileExists(atPath: home.configuration) { try read(home.configuration) }
    if let name = environment["WAYMARK_NAME"], !name.isEmpty { self.name = name }
    if let listen = environment["WAYMARK_LISTEN"], !listen.isEmpty { self.listen = listen }
    discovery = try Self.flag("WAYMARK_DISCOVERY", environment) ?? discovery
    followSync = try Self.flag("WAYMARK_FOLLOW_SYNC", environment) ?? followSync
    if let peers = environment["WAYMARK_PEERS"] {
      self.peers = peers.split(separator: ",").map { $0.trimmed }
    }
  }

  private static func flag(_ name: String, _ environment: [String: String]) throws -> Bool? {
    switch environment[name]?.lowercased() {
    case nil, "": nil
    case "on", "true", "1", "yes": true
    case "off", "false", "0", "no": false
    case let other?: throw WaymarkError.badValue(name, other, allowed: "expected on or off")
    }
  }

  private mutating func read(_ path: String) throws {
    let bytes = try Files.read(path, bytesMax: 64 * 1024, what: "configuration file")
    let json: JSON
    do {
      json = try JSON.parse(bytes)
    } catch {
      throw Self.broken(path, "\(error)")
    }
    guard let members = json.members else { throw Self.broken(path, "it is not a JSON object") }
    for member in members {
      switch (member.key, member.value) {
      case ("name", .string(let text)): name = text
      case ("listen", .string(let text)): listen = text
      case ("discovery", .bool(let isWanted)): discovery = isWanted
      case ("followSync", .bool(let isWanted)): followSync = isWanted
      case ("purchases", let value):
        guard let policy = try? JSONValueDecoder().decode(PurchasePolicy.self, from: value),
          policy.apps.allSatisfy({ !$0.products.isEmpty || !$0.groups.isEmpty })
        else {
          throw Self.broken(
            path, "`purchases` needs `apps`, and each app a `bundle`, and `products` or `groups`")
        }
        purchases = policy
      case ("peers", .array(let items)) where items.allSatisfy({ $0.string != nil }):
        peers = items.compactMap(\.string)
      default:
        throw Self.broken(
          path,
          "`\(shortened(member.key))` is not one of name, listen, peers, discovery, followSync and purchases, or its value is invalid"
        )
      }
    }
  }

  private static func broken(_ path: String, _ why: String) -> WaymarkError {
    WaymarkError.failed(
      .configuration, "The configuration file \(path) is invalid: \(why).", next: "fix or remove it")
  }
}

extension Home {
  /// Which purchases in the App Store give premium by the configuration file; nil if it does not say.
  package var purchases: PurchasePolicy? {
    get throws {
      try Configuration(home: self, environment: [:]).purchases
    }
  }
}
