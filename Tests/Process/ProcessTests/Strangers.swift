import Foundation
import Platform
import Processes
import Sodium
import Synchronization
import Testing
import Wire

/// Fifty unauthenticated connections, kept busy until the crowd is dismissed. Every other one of each kind knows the
/// circle, as a revoked device does, so that the node answers its first message.
final class Strangers: Sendable {
  private enum Kind: Int, CaseIterable {
    case silent, halfOpen, almost, slow, garbage, falseProof, longLength, guess
  }

  private let address: sockaddr_in
  /// The preamble key of the circle, and one of another circle.
  private let known: SymmetricKey
  private let other: SymmetricKey
  private let isOver = Atomic(false)
  private let attempts = Atomic(0)
  private let threads = DispatchGroup()

  /// How many connections have been made.
  var count: Int { attempts.load(ordering: .relaxed) }

  /// - Parameters:
  ///   - address: `127.0.0.1:PORT`.
  ///   - circle: the circle's id in hexadecimal.
  init(at address: String, circle: String, count: Int = 50) throws {
    guard let port = address.split(separator: ":").last.flatMap({ UInt16($0) }) else {
      throw Failure("no port in \(address)")
    }
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = port.bigEndian
    place.sin_addr.s_addr = inet_addr("127.0.0.1")
    self.address = place
    known = try preambleKey(circle: try #require(bytesFromHexadecimal(circle)))
    other = try preambleKey(circle: randomBytes(32))
    for number in 0..<count {
      let kind = Kind.allCases[number % Kind.allCases.count]
      let key = number / Kind.allCases.count % 2 == 1 ? known : other
      threads.enter()
      Thread.detachNewThread { [self] in
        while !isOver.load(ordering: .relaxed) { once(kind, key) }
        threads.leave()
      }
    }
  }

  /// Stops them, and waits until the last has closed.
  func end() async throws {
    isOver.store(true, ordering: .relaxed)
    try await eventually("the strangers are gone", seconds: 20) { threads.wait(timeout: .now()) == .success }
  }

  private func once(_ kind: Kind, _ key: SymmetricKey) {
    let descriptor = openSocket(AF_INET, .stream)
    guard descriptor >= 0 else { return rest() }
    defer { close(descriptor) }
    var patience = timeval(tv_sec: 1, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var place = address
    let connected = withUnsafePointer(to: &place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { return rest() }
    attempts.add(1, ordering: .relaxed)
    behave(kind, key, descriptor)
    usleep(10_000)
  }

  private func behave(_ kind: Kind, _ key: SymmetricKey, _ descriptor: Int32) {
    let start = Array("WAYMARK".utf8) + [0, 2] + random(16)
    let preamble = start + key.authenticationCode(of: start)
    let hello = preamble + [0, 32] + random(32)
    switch kind {
    case .silent: break
    case .halfOpen: say(hello, descriptor)
    case .almost: say(hello + [0x18, 0x40] + random(6_207), descriptor)
    case .slow:
      for byte in hello where !isOver.load(ordering: .relaxed) {
        say([byte], descriptor)
        usleep(300_000)
      }
    case .garbage: say(random(Int.random(in: 1...20_000)), descriptor)
    case .falseProof: say(hello + [0, 200] + random(200), descriptor)
    case .longLength: say(preamble + [0xff, 0xff], descriptor)
    case .guess: say(preamble + [0, 48] + random(48), descriptor)
    }
    readToEnd(descriptor)
  }

  private func say(_ bytes: [UInt8], _ descriptor: Int32) {
    _ = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, quietSend) }
  }

  private func readToEnd(_ descriptor: Int32) {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while !isOver.load(ordering: .relaxed) {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 || (count < 0 && errno == EAGAIN) else { return }
    }
  }

  private func rest() { usleep(50_000) }

  private func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: 0...255) } }
}

private func preambleKey(circle: [UInt8]) throws -> SymmetricKey {
  let prefix = Array("waymark/session-preamble/v1".utf8) + [0]
  return try SymmetricKey(Blake2b256.hashBytes(prefix: prefix, parts: [circle]))
}
