import Foundation
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Control
@testable import NodeRuntime
@testable import Waymark

/// What `doctor` finds at a home whose node does not answer, fails or has nothing to lose.
struct DoctorFindingTests {
  /// Examines a home whose node can't be asked because of an error.
  private func examine(_ home: Home, failing error: WaymarkError) async throws -> Diagnosis {
    try await Doctor.examine(home, report: nil, overwrites: false) { throw error }
  }

  private let failed = WaymarkError.failed(.storeFailed, "The disk failed.", next: "try again")
  private let missing = WaymarkError.failed(.keyMissing, "The key is missing.", next: "try again")

  @Test func `a node that does not answer is the first finding, and nothing is said about its store`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    let diagnosis = try await examine(alice.home, failing: .notAnswering(nil, hasBegun: false))
    #expect(diagnosis.findings.first?.check == .node && diagnosis.findings.first?.code == .notAnswering)
    #expect(diagnosis.findings.first?.severity == .error && !diagnosis.isSound)
    let checks = diagnosis.findings.map(\.check)
    #expect(!checks.contains(.store) && checks.contains(.keys) && checks.contains(.disk))
    await alice.close()
  }

  @Test func `a node that fails is a finding about its store, unless the keys have been reported already`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    func codes(_ check: Diagnosis.Check, failing error: WaymarkError) async throws -> [Reason] {
      try await examine(alice.home, failing: error).findings.filter { $0.check == check }.map(\.code)
    }
    for error in [failed, missing] {
      #expect(try await codes(.store, failing: error) == [error.reason])
      #expect(try await codes(.node, failing: error) == [])
    }
    try FileManager.default.removeItem(atPath: alice.home.deviceKey)
    #expect(try await codes(.keys, failing: missing) == [.keyMissing, .rootKeyHere])
    #expect(try await codes(.store, failing: missing) == [])
    #expect(try await codes(.store, failing: failed) == [.storeFailed])
    await alice.close()
  }

  @Test func `a configuration that can't be read is an error, and the rest is checked`() async throws {
    let alice = try await TestNode.founder("alice")
    try Data("{\"name\":".utf8).write(to: URL(filePath: alice.home.configuration))
    let diagnosis = try await alice.node.examine()
    let found = diagnosis.findings.filter { $0.check == .configuration }
    #expect(found.map(\.severity) == [.error] && !diagnosis.isSound)
    #expect(found.first?.text.contains(alice.home.configuration) == true)
    #expect(diagnosis.findings.contains { $0.check == .store && $0.severity == .ok })
    await alice.close()
  }

  @Test func `a home without a store is examined, and what is no home at all is refused`() async throws {
    let folder = try Folder()
    let home = Home(path: folder.path)
    let diagnosis = try await examine(home, failing: .noStore(home))
    let keys = diagnosis.findings.filter { $0.check == .keys }
    #expect(keys.map(\.code) == [.keyMissing])
    #expect(diagnosis.findings.contains { $0.code == .noStore } && !diagnosis.isSound)
    let nowhere = Home(path: folder.file("nowhere"))
    let refused = await #expect(throws: WaymarkError.self) {
      try await examine(nowhere, failing: .noStore(nowhere))
    }
    #expect(refused?.reason == .noStore)
    #expect(folder.names == [], "nothing was made")
  }

  @Test func `a device without data has nothing to lose, though no other has said what it holds`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    var status = try await alice.node.status()
    let bob = NodeStatus.ReplicationRisk.Holder(
      device: status.device, name: "bob", lacking: nil, newestLacking: nil, asOf: nil)
    status.replicationRisk = NodeStatus.ReplicationRisk(changeSets: 0, devices: [bob])
    let told = status
    let diagnosis = try await Doctor.examine(alice.home, report: nil, overwrites: false) { (told, []) }
    let found = diagnosis.findings.last { $0.check == .safety }
    #expect(found?.code == .ok && found?.text == "There is no data here that could be lost.")
    await alice.close()
  }
}
