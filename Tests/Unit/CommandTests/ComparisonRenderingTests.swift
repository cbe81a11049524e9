import Console
import Foundation
import JSONDocument
import Testing
import WaymarkCare
import Wire

@testable import Control
@testable import NodeOperations
@testable import NodeRuntime
@testable import Waymark
@testable import WaymarkCommand

/// Comparisons with peers, as a user sees them, 100 columns wide.
struct ComparisonRenderingTests {
  private typealias Comparison = SyncPreview.Comparison

  private func kind(_ name: String, _ plural: String, _ counts: Comparison) -> SyncPreview.KindComparison {
    SyncPreview.KindComparison(
      kind: RecordKind(rawValue: name), plural: plural, onlyHere: counts.onlyHere,
      onlyThere: counts.onlyThere, same: counts.same, differing: counts.differing)
  }

  private func preview(
    wanted: Bool, _ kinds: [SyncPreview.KindComparison], total: Comparison,
    differing: [RecordReference] = [],
    profile: SyncPreview.Profile? = nil, asked: [String] = [], notAsked: [SyncPreview.NotAsked]
  ) throws -> String {
    let preview = SyncPreview(
      preference: wanted, isActive: false,
      premium: SyncState.Premium(source: .certificate, validUntil: nil, obstacle: nil), kinds: kinds,
      total: total, differing: differing, profile: profile,
      peers: asked.map {
        SyncPreview.Asked(
          device: Self.device, name: $0, kinds: [], total: total, differing: [], profile: nil)
      }, notAsked: notAsked)
    let lines = try shown { $0.preview(preview) }
    return (lines.data + lines.notes).joined(separator: "\n")
  }

  private static let device = DeviceKey(Bytes32(0, 0, 0, 0))

  @Test func `a preview shows which records are where, which profile wins, and which peers were not asked`()
    throws
  {
    func version(_ milliseconds: Int64, _ filledIn: Int) -> SyncPreview.Profile.Version {
      let date = Date(milliseconds: milliseconds)
      return SyncPreview.Profile.Version(
        updatedAt: date, filledIn: filledIn, device: Self.device, deviceName: "x", written: date)
    }
    let id = try #require(UUID(uuidString: "0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60"))
    let shown = try preview(
      wanted: false,
      [
        kind("trip", "trips", Comparison(onlyHere: 2, onlyThere: 1, same: 14, differing: 1)),
        kind("entry", "entries", Comparison(onlyHere: 0, onlyThere: 20_000, same: 0, differing: 0)),
      ], total: Comparison(onlyHere: 2, onlyThere: 20_001, same: 14, differing: 1),
      differing: [RecordReference(kind: .trip, id: id, name: "東京")],
      profile: SyncPreview.Profile(
        state: .differs, winner: .there, winnerDevice: Self.device, winnerName: "phone",
        reason: "updated_at", text: "it was changed later", here: version(1_777_730_400_000, 4),
        there: version(1_777_798_800_250, 3)), asked: ["phone", "nas"],
      notAsked: [
        .init(
          device: Self.device, name: "tablet", reason: .peerSyncOff,
          text: "sync of records is off on tablet", next: nil)
      ])
    #expect(
      shown == """
        If you turn sync on (nothing has been changed):

                 ONLY HERE  ONLY THERE  SAME  DIFFERING
        trips            2           1    14          1
        entries          0      20,000     0          0
        total            2      20,001    14          1

        Differing records merge field by field; the newer change is displayed and the other is kept:
          trip “東京” (0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60)

        profile    the one on phone wins, because it was changed later (here 2026-05-02 14:00, 4 fields;
                   there 2026-05-03 09:00, 3 fields)
        asked      phone, nas
        not asked  tablet, because sync of records is off on tablet
        Next: waymark sync on --yes
        """)
  }

  @Test func `a preview reports that no peer could be asked`() throws {
    let two = Comparison(onlyHere: 2, onlyThere: 0, same: 0, differing: 0)
    let shown = try preview(
      wanted: true, [kind("trip", "trips", two)], total: two,
      notAsked: [
        .init(
          device: Self.device, name: "nas", reason: .peerFreeTier,
          text: "nas has no premium, so only settings sync with it", next: .waymark("help premium"))
      ])
    #expect(
      shown == """
        Sync is on. What the devices hold now:

        asked      no other device
        not asked  nas, because nas has no premium, so only settings sync with it · waymark help premium
        """)
  }

  @Test func `verify prints nothing but the verdict`() throws {
    let id = try #require(UUID(uuidString: "0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60"))
    let differs = PeerVerification.Lane.differs(
      .init(
        records: [RecordReference(kind: .trip, id: id, name: "Rome")], hasMore: true, digestWrongHere: [],
        digestWrongThere: ["01", "7f"]))
    func peer(
      _ name: String, _ verdict: PeerVerification.Verdict, _ records: PeerVerification.Lane,
      next: Step? = nil
    ) -> PeerVerification.Peer {
      .init(
        device: Self.device, name: name, verdict: verdict, certificatesEqual: true,
        lanes: .init(settings: .equal, records: records), next: next)
    }
    let verification = PeerVerification(
      verdict: .differs,
      peers: [
        peer("nas", .equal, .equal),
        peer("phone", .notInSync, .notInSync(behind: 2, ahead: 0), next: .waymark("wait --peer phone")),
        peer("tablet", .equal, .notCompared(reason: .peerFreeTier, text: "tablet is free", next: nil)),
        peer("studio", .differs, differs, next: "on studio: \(waymark: "verify --deep --repair")"),
      ])
    let json = try AnswerCoding.encode(Verify.Answer.peers(verification))
    let lines = try shown {
      Verify().render(try AnswerCoding.decode(Verify.Answer.self, from: json), into: &$0)
    }
    #expect(
      (lines.data + lines.notes).joined(separator: "\n") == """
        nas: settings equal · records equal
        phone: settings equal · records not in sync yet (2 change sets behind)
        tablet: settings equal · records not compared: tablet is free
        studio: settings equal · records differ
          trip “Rome” (0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60)
          … and more
          the digest stored on studio does not match the records whose ids begin with 01, 7f
        Next: waymark wait --peer phone
        Next: on studio: waymark verify --deep --repair
        """)
  }
}
