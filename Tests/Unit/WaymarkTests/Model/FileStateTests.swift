import Model
import Storage
import Testing
import Wire

/// Where a file is, from what this device knows of it.
struct FileStateTests {
  private static let one = DeviceKey(Bytes32(0, 0, 0, 1))
  private static let two = DeviceKey(Bytes32(0, 0, 0, 2))
  private static let three = DeviceKey(Bytes32(0, 0, 0, 3))
  private static let names = [one: "Carol", two: "Alice", three: "Alice"]

  private static func named(_ devices: DeviceKey...) -> [DeviceReference] {
    devices.map { DeviceReference(device: $0, name: names[$0] ?? "") }
  }

  private func state(
    isHere: Bool = false, received: Int = 0, from sources: [DeviceKey] = [], on holders: [DeviceKey] = []
  ) -> FileState {
    let location = FileLocation(
      isHere: isHere, receivedBytes: received, sources: sources, holders: holders)
    return FileState(location, size: 100) { Self.names[$0] ?? "" }
  }

  @Test func `a file that is here is nowhere else to be fetched from`() {
    #expect(state(isHere: true, received: 40, from: [Self.one], on: [Self.two]) == .here)
    #expect(state(isHere: true).isHere && !state().isHere)
  }

  @Test func `a file of which some has arrived comes from its sources, or else from those that have it`() {
    let fetched = state(received: 40, from: [Self.one, Self.three], on: [Self.two])
    #expect(fetched == .partly(received: 40, size: 100, from: Self.named(Self.three, Self.one)))
    #expect(!fetched.isHere)
    let waiting = state(received: 1, on: [Self.one, Self.two, Self.three])
    // By name, and then by key.
    #expect(waiting == .partly(received: 1, size: 100, from: Self.named(Self.two, Self.three, Self.one)))
    #expect(state(received: 40) == .partly(received: 40, size: 100, from: []))
  }

  @Test func `a file that is elsewhere is on each device that has it or offers it, once`() {
    #expect(
      state(from: [Self.one, Self.two], on: [Self.two, Self.three])
        == .elsewhere(on: Self.named(Self.two, Self.three, Self.one)))
    #expect(state(from: [Self.one]) == .elsewhere(on: Self.named(Self.one)))
    #expect(state(on: [Self.three]) == .elsewhere(on: Self.named(Self.three)))
    #expect(state() == .nowhere)
  }
}
