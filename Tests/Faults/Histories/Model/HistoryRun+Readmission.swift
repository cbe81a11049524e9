import Enrolment
import Foundation
import Waymark
import WaymarkCare
import WaymarkKinds
import WaymarkTesting

// Protocol/circle.md, "Readmission". The first device revokes another one while all are connected, so that every device
// knows. Those changes of the revoked device that the first one does not hold are excluded. The device then gets new
// keys, and writes again what was in them.

extension HistoryRun {
  mutating func readmit(_ device: Int) async throws -> String? {
    guard device != 0 else { return nil }
    let all = Array(devices.indices)
    connected = []
    await partition(all)
    try await settle(all)
    let excluded = model.operations(withKeysOf: device).subtracting(model.held[0])
    // Another device may have removed the values already.
    guard excluded.allSatisfy({ model.operations[$0].erased.isEmpty }) else {
      await partition([])
      return nil
    }
    try await node(0).revoke([devices[device]])
    try await circle.settle()
    try await expectRefusal(nil) { _ = try await apply(Self.trip, device) }
    await partition([])
    try await replaceKeys(device)
    let writes = model.readmit(device, without: excluded)
    if !writes.isEmpty { write(device, writes, as: try await newestOperation(device)) }
    for other in devices.indices { model.freeFiles(other) }
    return "is revoked and readmitted, and loses the operations \(excluded.sorted())"
  }

  private static var trip: Changes {
    var changes = Changes()
    changes.save(Trip(name: "Refused"))
    return changes
  }

  /// Joins with the root key, which the first device holds.
  private mutating func replaceKeys(_ device: Int) async throws {
    let name = Self.names[device]
    await circle.close(name)
    let clock = circle.clock
    let readmission = Readmission(
      home: node(device).home, name: nil, hostName: name, rootKey: node(0).home.rootKey
    ) { clock.wall() }
    try await readmission.join()
    try await circle.reopen(name)
    devices[device] = try await node(device).status().device
    keys[devices[device]] = device
  }
}

extension HistoryModel {
  /// The operations that a device wrote with its present keys.
  func operations(withKeysOf device: Int) -> Set<Int> {
    Set(operations.indices).filter {
      operations[$0].device == device && operations[$0].log.readmissions == logs[device].readmissions
    }
  }

  /// Excludes operations of a device on all devices.
  ///
  /// - Returns: what the device writes so that its records are as before.
  mutating func readmit(_ device: Int, without excluded: Set<Int>) -> [Cell: Content] {
    self.excluded.formUnion(excluded)
    let wrote = held[device].intersection(operations(withKeysOf: device))
    logs[device] = Log(device: device, readmissions: logs[device].readmissions + 1)
    let before = self
    for other in held.indices { held[other].subtract(excluded) }
    forgetSeen()
    var writes: [Cell: Content] = [:]
    for record in Set(wrote.flatMap { operations[$0].writes.keys.map(\.record) }) {
      writes.merge(bring(record, device, to: before)) { first, _ in first }
    }
    return writes
  }

  /// Computes what each operation has seen from what its log names. A log names the newest operation that it has seen of
  /// each other log. If that one is excluded, no device has it to tell what came before it, so that log is not seen at all
  /// beyond what was named earlier.
  private mutating func forgetSeen() {
    for number in operations.indices {
      var past: Set<Int> = []
      for head in operations[number].heads where !excluded.contains(head) {
        past.formUnion((0...head).filter { operations[$0].log == operations[head].log })
        if operations[head].log == operations[number].log { past.formUnion(operations[head].past) }
      }
      operations[number].past = past
    }
  }

  /// Returns what makes a record of a device equal to that of a former state.
  private func bring(_ record: Int, _ device: Int, to former: HistoryModel) -> [Cell: Content] {
    var writes: [Cell: Content] = [:]
    for field in Field.allCases {
      let cell = Cell(record: record, field: field)
      let (wanted, now) = (former.shown(cell, device), shown(cell, device))
      // An empty profile looks like none, so it is not written again.
      let isBlank = field == .whole && [wanted, now].allSatisfy { [.null, Self.blankProfile].contains($0) }
      if wanted != now, !isBlank { writes[cell] = wanted }
    }
    return writes
  }
}
