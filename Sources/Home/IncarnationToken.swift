import Foundation
import Storage
import Wire

/// A file that ties an incarnation to the very file in which the store is.
///
/// Two directories that write one log fork it. A copy of the directory, and a store that is put back, bring along
/// what the store says of itself, but not its place on the disk: then the directory starts an incarnation anew.
struct IncarnationToken: IncarnationStorage {
  private let home: Home

  init(_ home: Home) { self.home = home }

  /// Whether this directory is the one that writes the logs of an incarnation.
  func names(_ incarnation: Incarnation) -> Bool {
    guard let bytes = try? Files.read(home.incarnation, bytesMax: 1_024) else { return false }
    return bytes == text(incarnation)
  }

  /// Puts the file in place of what is there, durably.
  func write(_ incarnation: Incarnation) throws {
    try Files.replace(home.incarnation, with: text(incarnation), mode: 0o600)
  }

  private func text(_ incarnation: Incarnation) -> [UInt8] {
    Array("waymark incarnation v1\n\(incarnation)\nstore \(Self.place(home.store))\n".utf8)
  }

  /// What a rename keeps and no copy has: the file's number on its disk.
  private static func place(_ path: String) -> String {
    let attributes = (try? FileManager.default.attributesOfItem(atPath: path)) ?? [:]
    return (attributes[.systemFileNumber] as? NSNumber).map { "\($0)" } ?? "-"
  }
}
