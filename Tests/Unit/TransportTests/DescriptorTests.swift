import Platform
import SecureChannel
import Testing
import Wire

@testable import Transport

/// Each test runs in a process of its own, since it uses up every descriptor.
@Suite struct `A process without descriptors` {
  @Test func `does not end at its first socket, and continues when it has some`() async {
    await #expect(processExitsWith: .success) {
      let (alice, bob) = (Recorder(), Recorder())
      let listener = try Listener(
        on: Endpoint(host: "127.0.0.1", port: 0), role: World.responder, settings: settings(key: 2),
        handlers: bob.handlers)
      // Dispatch needs some of its own for timers, and opens them when the first one is set.
      try await Task.sleep(for: .milliseconds(10))
      let held = holdAll()
      #expect(held.count > 10 && open("/dev/null", O_RDONLY) < 0)
      listener.start()
      try await Task.sleep(for: .milliseconds(100))
      for descriptor in held { close(descriptor) }
      let link = try TestLink(
        dialing: listener.address.endpoint, role: .initiator(World.session) { _ in [] },
        settings: settings(key: 1), handlers: alice.handlers)
      link.start()
      try await eventually("both ends are open", seconds: 20) { bob.opening != nil && alice.opening != nil }
      exit(bob.opening != nil ? 0 : 1)
    }
  }
}

/// Opens every available descriptor.
private func holdAll() -> [Int32] {
  LimitedResource.openFiles.setLimits(current: 64, highest: 64)
  var held: [Int32] = []
  while true {
    let descriptor = open("/dev/null", O_RDONLY)
    guard descriptor >= 0 else { return held }
    held.append(descriptor)
  }
}
