import Foundation
import Sodium
import Wire

/// Where the control socket of a home may be: in the home; where that path is too long for a socket's address, in a
/// directory of this user's alone outside of it, under a name made of the path.
package struct ControlSocketPath {
  /// The socket.
  package let path: String
  private let directory: String
  /// Whether the directory is made if it is not there.
  private let isOwn: Bool

  /// In the order in which they are tried. A node and a command may be started with different environments, so the
  /// command looks in all of them.
  package static func all(of home: Home, environment: [String: String] = ProcessInfo.processInfo.environment)
    -> [ControlSocketPath]
  {
    // One directory may be named in many ways, of different lengths; a node and a command have to mean one place.
    let directory = realPath(home.path)
    let direct = ControlSocketPath(path: directory + "/control.sock", directory: directory, isOwn: false)
    if direct.fits { return [direct] }
    let name = "waymark-\(hexadecimal(pathHash(directory).prefix(12))).sock"
    let runtime = environment["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? $0 : nil }
    let user = geteuid()
    var places = [runtime, "/run/user/\(user)"].compactMap(\.self).map {
      ControlSocketPath(path: "\($0)/\(name)", directory: $0, isOwn: false)
    }
    places.append(
      ControlSocketPath(path: "/tmp/waymark-\(user)/\(name)", directory: "/tmp/waymark-\(user)", isOwn: true))
    return places.filter(\.fits)
  }

  /// The first one that this user may have.
  ///
  /// - Throws: `WaymarkError` if there is none.
  package static func toServe(_ home: Home) throws -> ControlSocketPath {
    var trouble: (any Error)?
    for place in all(of: home) {
      do {
        if place.isOwn { try Home.makePrivateDirectory(place.directory) }
        try place.check()
        return place
      } catch {
        trouble = error
      }
    }
    throw trouble
      ?? WaymarkError.home(
        .unwritable, "There is no place for a control socket of \(home.path).",
        next: "name a shorter path with --home")
  }

  /// Throws unless the directory is this user's alone: in one that others can write to, they could put a socket of
  /// theirs under our name, and read what people ask their node.
  func check() throws {
    var status = stat()
    guard lstat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw WaymarkError.home(
        .unwritable, "\(directory) is not a directory, so no control socket can be there.",
        next: "see what it is: ls -ld \(shellWord(directory))")
    }
    guard status.st_uid == geteuid() else {
      throw WaymarkError.home(
        .wrongOwner, "The directory \(directory) belongs to another user.",
        next: "name a shorter path with --home, so that the socket lies there")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw WaymarkError.home(
        .wrongMode, "The directory \(directory) is open to other users.",
        next: "chmod 700 \(shellWord(directory))")
    }
  }

  /// Whether there is a socket of this user's, where nobody else can put one.
  package var isSocketOfThisUser: Bool { (try? check()) != nil && isSocket }

  /// Takes away the socket of a node that was killed. Anything else at the place stays, and is an error.
  package func clear() throws {
    guard isSocket else {
      var status = stat()
      guard lstat(path, &status) != 0 else {
        throw WaymarkError.home(
          .unwritable, "\(path) is no socket, so the control socket can't be there.",
          next: "see what it is, and remove it")
      }
      return
    }
    unlink(path)
  }

  /// Itself, not what a link leads to.
  private var isSocket: Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK && status.st_uid == geteuid()
  }

  private var fits: Bool { path.utf8.count < Self.pathBytesMax }

  /// `sun_path` holds 108 bytes on Linux and 104 on a Mac, the final zero included.
  private static let pathBytesMax = 104
}

/// BLAKE2b-256 of a path, to name a socket by.
private func pathHash(_ path: String) -> [UInt8] {
  Blake2b256.hashBytes(prefix: Array("waymark/path/v1\0".utf8), parts: [Array(path.utf8)])
}
