import Platform
import SecureChannel
import Testing
import Wire

@testable import Transport

/// A process that has only the descriptors left that are reserved for its own files. Each test runs in a
/// process of its own.
@Suite(.serialized) struct FewDescriptorsTests {
  @Test func `closes a new connection if no stranger can make room, and later accepts again`() async {
    await #expect(processExitsWith: .success) {
      let world = try World()
      let link = try await world.opened()
      link.send([1])
      try await eventually("Alice is admitted", seconds: 20) { world.bob.messages == [[1]] }
      let limit = try leaveFewDescriptors()
      let late = try RawClient(to: world.listener.address)
      try await eventually("the new one is closed", seconds: 20) { hasEnded(late) }
      guard world.bob.ends.isEmpty, world.alice.ends.isEmpty else { exit(1) }
      restoreDescriptors(limit)
      let carol = Recorder()
      _ = try world.dial(as: carol)
      try await eventually("Carol is connected", seconds: 20) { carol.opening != nil }
      exit(world.alice.ends.isEmpty ? 0 : 1)
    }
  }

  @Test func `gives the place of a stranger to a new connection, and goes on accepting`() async {
    await #expect(processExitsWith: .success) {
      let world = try World()
      let stranger = try RawClient(to: world.listener.address)
      // The stranger was accepted before her.
      let link = try await world.opened()
      link.send([1])
      try await eventually("Alice is admitted", seconds: 20) { world.bob.messages == [[1]] }
      let limit = try leaveFewDescriptors()
      let carol = Recorder()
      _ = try world.dial(as: carol)
      try await eventually("Carol is connected", seconds: 20) { carol.opening != nil && world.bob.links == 2 }
      try await eventually("the stranger is gone", seconds: 20) {
        hasEnded(stranger) && world.bob.ends == [.timeout]
      }
      restoreDescriptors(limit)
      let bob = Recorder()
      _ = try world.dial(as: bob)
      try await eventually("another one is connected", seconds: 20) { bob.opening != nil }
      exit(world.alice.ends.isEmpty && carol.ends.isEmpty ? 0 : 1)
    }
  }

  @Test func `closes the connection of a program on this machine, which does not wait in vain`() async {
    await #expect(processExitsWith: .success) {
      let listener = try LoopbackListener(on: Endpoint(host: "127.0.0.1", port: 0))
      // Dispatch opens descriptors of its own when the first timer is set.
      try await Task.sleep(for: .milliseconds(10))
      let limit = try leaveFewDescriptors()
      let client = try RawClient(to: listener.address)
      guard listener.accept(until: monotonicMilliseconds() + 20_000) == nil else { exit(1) }
      try await eventually("it is closed", seconds: 20) { hasEnded(client) }
      restoreDescriptors(limit)
      let later = try RawClient(to: listener.address)
      let isServed = withExtendedLifetime(later) {
        listener.accept(until: monotonicMilliseconds() + 20_000) != nil
      }
      exit(isServed ? 0 : 1)
    }
  }

  @Test func `loses no descriptor by dialling addresses that the system refuses`() async {
    await #expect(processExitsWith: .success) {
      let group = try #require(SocketAddress.numeric("224.0.0.1", port: 7_433))
      let before = try lowestFree()
      for _ in 0..<50 where (try? Socket.connecting(to: group)) != nil { exit(1) }
      let after = try lowestFree()
      exit(after < before + 20 ? 0 : 1)
    }
  }
}

/// The number that the next descriptor gets.
private func lowestFree() throws -> Int32 {
  let descriptor = open("/dev/null", O_RDONLY)
  guard descriptor >= 0 else { throw SystemError.last("open") }
  close(descriptor)
  return descriptor
}

/// Lets this process open only a few more descriptors, fewer than are reserved. Returns the limit before.
private func leaveFewDescriptors() throws -> UInt64 {
  let limits = try #require(LimitedResource.openFiles.limits)
  let few = UInt64(try lowestFree()) + UInt64(Limits.reservedDescriptors) / 2
  LimitedResource.openFiles.setLimits(current: few, highest: limits.highest)
  return limits.current
}

private func restoreDescriptors(_ limit: UInt64) {
  guard let limits = LimitedResource.openFiles.limits else { return }
  LimitedResource.openFiles.setLimits(current: limit, highest: limits.highest)
}

/// Whether the other end has closed the connection.
private func hasEnded(_ client: RawClient) -> Bool {
  var buffer = [UInt8](repeating: 0, count: 16)
  if case .bytes(0) = buffer.withUnsafeMutableBytes({ client.socket.read(into: $0) }) { return true }
  return false
}
