import Membership
import Replication
import Testing
import Vectors
import Wire

/// Protocol/vectors/session.json: introductions, judged by a receiver that holds some statements.
@Suite struct IntroductionVectorTests {
  @Test func `a receiver admits and keeps what the vectors say`() throws {
    for row in try SessionVectors().introductions {
      var circle = try heldCircle(row.held)
      let before = Set(circle.ids)
      let member = try? admit(row, to: &circle)
      #expect(member?.device.description == row.member, "\(row.flag): \(row.name)")
      #expect((member == nil) == (row.outcome == "closed"), "\(row.flag): \(row.name)")
      let kept = Set(circle.ids).subtracting(before).map(\.description).sorted()
      #expect(kept == row.kept, "\(row.flag): \(row.name)")
    }
  }

  /// - Returns: the member that is admitted; nil if the introduction shows that the device is no longer one.
  private func admit(_ row: SessionVectors.IntroductionRow, to circle: inout Circle) throws -> Member? {
    let introduction = try Introduction(expand(row.bytes))
    let transport = TransportKey(try bytes32(row.transport))
    return try circle.admit(introduction, authenticated: transport).member
  }
}
