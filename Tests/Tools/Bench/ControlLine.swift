import Foundation
import JSONDocument
import Platform
import Processes
import Wire

/// A connection to a node's control socket, used for one request after another.
final class ControlLine: @unchecked Sendable {
  private let descriptor: Int32
  private var buffer: [UInt8] = []

  init(_ path: String) throws {
    descriptor = openSocket(AF_UNIX, .stream)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw Failure("\(path) is too long")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let code = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard code == 0 else { throw Failure("nothing listens at \(path)") }
  }

  deinit { close(descriptor) }

  /// Sends a request and waits for its answer, skipping the node's progress messages.
  @discardableResult
  func ask(_ command: String, _ arguments: JSON) throws -> JSON {
    let request: JSON = ["command": .string(command), "arguments": arguments]
    let bytes = request.bytes() + [UInt8(ascii: "\n")]
    guard
      bytes.withUnsafeBytes({ send(descriptor, $0.baseAddress, $0.count, quietSend) })
        == bytes.count
    else { throw Failure("the node hung up") }
    while true {
      let answer = try JSON.parse(try readLine())
      switch answer["type"]?.string {
      case "event": continue
      case "result": return answer["document"] ?? .null
      default: throw Failure("\(command): \(String(decoding: answer.bytes(), as: UTF8.self))")
      }
    }
  }

  private func readLine() throws -> [UInt8] {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    var scanned = 0
    while true {
      if let end = buffer[scanned...].firstIndex(of: UInt8(ascii: "\n")) {
        defer { buffer.removeSubrange(...end) }
        return Array(buffer[..<end])
      }
      scanned = buffer.count
      let count = read(descriptor, &chunk, chunk.count)
      guard count > 0 else { throw Failure("the node hung up") }
      buffer += chunk[..<count]
    }
  }
}
