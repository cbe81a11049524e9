import Synchronization

/// The time zones in the system's files, which Linux keeps in `/usr/share/zoneinfo`.
final class ZoneFiles: Sendable {
  static let shared = ZoneFiles(folder: "/usr/share/zoneinfo", local: "/etc/localtime")

  private let folder: String
  /// The link to the file of the zone that this machine is set to.
  private let local: String
  /// The zones that were looked up, because a lookup reads a file; nil for names without a zone.
  private let known = Mutex<[String: Zone?]>([:])
  private static let countMax = 2_000
  private static let bytesMax = 65_536

  init(folder: String, local: String) {
    self.folder = folder
    self.local = local
  }

  func zone(named name: String) -> Zone? {
    known.withLock { known in
      if let zone = known[name] { return zone }
      let zone = Zone(offsetName: name) ?? read(name)
      if known.count < Self.countMax, name.utf8.count <= Self.nameMax { known[name] = .some(zone) }
      return zone
    }
  }

  private static let nameMax = 64

  private static func isPartOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "_+-/".utf8.contains(byte)
    }
  }

  /// Names come from files and users, so that paths are rejected, and also what `zoneinfo` has besides zones: the names of
  /// all zones begin with a capital letter.
  private func read(_ name: String) -> Zone? {
    guard name.utf8.count <= Self.nameMax, let first = name.utf8.first,
      UInt8(ascii: "A")...UInt8(ascii: "Z") ~= first,
      name.utf8.allSatisfy(Self.isPartOfName), let file = TimeZoneFile(content(of: "\(folder)/\(name)"))
    else { return nil }
    return Zone(name: name, file: file)
  }

  /// Reads a file; empty if it is missing or too long.
  private func content(of path: String) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4_096))
    while bytes.count <= Self.bytesMax {
      let count = uninterrupted { Platform.read(descriptor, &buffer, buffer.count) }
      guard count >= 0 else { return [] }
      guard count > 0 else { return bytes }
      bytes += buffer[..<count]
    }
    return []
  }

  /// The zone that this machine is set to; UTC if that is none with a name.
  ///
  /// - Parameter variable: the value of `TZ`, which counts if it names a zone.
  func zone(ofVariable variable: String?) -> Zone {
    if let variable, let zone = zone(named: Self.name(inPath: variable)) { return zone }
    let link = (try? FileManager.default.destinationOfSymbolicLink(atPath: local)) ?? ""
    return zone(named: Self.name(inPath: link)) ?? .utc
  }

  /// Returns the name of the zone that a path or `TZ` leads to: `Europe/Rome` for `:/usr/share/zoneinfo/Europe/Rome`.
  private static func name(inPath path: String) -> String {
    let path = path.drop { $0 == ":" }
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    guard let folder = parts.lastIndex(of: "zoneinfo") else { return String(path) }
    return parts[(folder + 1)...].joined(separator: "/")
  }
}
