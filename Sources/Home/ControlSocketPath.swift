import Platform
import Reasons
import Sodium
import Wire

/// A possible path of a home's control socket: in the home, or, if that path is too long for a socket address, in a
/// private directory of this user elsewhere, under a name derived from the path.
package struct ControlSocketPath {
  /// The path of the socket.
  package let path: String
  private let directory: String
  /// Whether the directory is created if it does not exist.
  private let isOwn: Bool

  /// Returns all possible paths, in the order in which they are tried. A node and a command may run with different
  /// environments, so a command tries all paths.
  package static func all(of home: Home, environment: [String: String] = ProcessInfo.processInfo.environment)
    -> [ControlSocketPath]
  {
    // A directory can have several paths of different lengths. A node and a command must agree on one of them.
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

  /// The first path that is usable by this user.
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
        .unwritable, "No directory is available for the control socket of \(home.path).",
        next: "use a shorter path with --home")
  }

  /// Throws unless the directory is private to this user. In a shared directory, other users could create a socket of
  /// this name and read the requests that are meant for the node.
  func check() throws {
    var status = stat()
    guard lstat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw WaymarkError.home(
        .unwritable, "\(directory) is not a directory, so the control socket can't be created there.",
        next: "check what it is: ls -ld \(shellWord(directory))")
    }
    guard status.st_uid == geteuid() else {
      throw WaymarkError.home(
        .wrongOwner, "The directory \(directory) belongs to another user.",
        next: "use a shorter path with --home, so that the socket fits in the home")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw WaymarkError.home(
        .wrongMode, "The directory \(directory) is open to other users.",
        next: "chmod 700 \(shellWord(directory))")
    }
  }

  /// Whether the path is a socket of this user, in a directory where no other user can create one.
  package var isSocketOfThisUser: Bool { (try? check()) != nil && isSocket }

  /// Removes the socket of a node that was killed. If the path is anything but a socket, throws and leaves it there.
  package func clear() throws {
    guard isSocket else {
      var status = stat()
      guard lstat(path, &status) != 0 else {
        throw WaymarkError.home(
          .unwritable, "\(path) is not a socket, so the control socket can't be created there.",
          next: "check what it is, and remove it")
      }
      return
    }
    unlink(path)
  }

  /// Whether the path itself, not the target of a link, is a socket of this user.
  private var isSocket: Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK && status.st_uid == geteuid()
  }

  private var fits: Bool { path.utf8.count < Self.pathBytesMax }

  /// `sun_path` holds 108 bytes on Linux and 104 on a Mac, including the final zero.
  private static let pathBytesMax = 104
}

/// BLAKE2b-256 of a path, for the name of a socket.
private func pathHash(_ path: String) -> [UInt8] {
  Blake2b256.hashBytes(prefix: Array("waymark/path/v1\0".utf8), parts: [Array(path.utf8)])
}
