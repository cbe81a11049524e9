import RecordTables
import Replication
import Testing
import Wire

@testable import NodeRuntime

/// The counters of a node, and the text in which metrics are read by Prometheus.
struct MetricTests {
  @Test func `each change set is counted once, by lane or by the reason why it was not stored`() {
    var counters = Counters()
    var report = CommitReport()
    report.placed = [.settings: 2, .records: 3]
    let log = LogKey(
      device: DeviceKey(Bytes32(0, 0, 0, 1)), incarnation: Incarnation(Bytes16(0, 1)), lane: .records)
    report.placements = [
      .place(folds: true), .place(folds: false), .duplicate, .duplicate, .excluded, .beyondQuota,
      .missing(log, sequence: 7), .clockConflict, .refused("a rule"),
    ]
    counters.add(report)
    #expect(counters.applied == [.settings: 2, .records: 3])
    let rejected: [String: UInt64] = [
      "duplicate": 2, "excluded": 1, "beyond_quota": 1, "early": 1, "invalid": 2,
    ]
    #expect(counters.rejected == rejected)
    counters.add(report)
    #expect(counters.applied == [.settings: 4, .records: 6])
    #expect(counters.rejected == rejected.mapValues { 2 * $0 })
    counters.add((received: 10, sent: 3))
    counters.add((received: 5, sent: 4))
    #expect(counters.bytesReceived == 15 && counters.bytesSent == 7)
  }

  @Test func `connections are counted that this node closed because of the other side`() {
    let causes: [CloseCause] = [
      .notAMember, .revoked, .misbehaved("it lied"), .excluded, .duplicate, .shuttingDown,
    ]
    let counted = causes.map(\.word).filter { Counters().refused[$0] != nil }
    #expect(counted == ["not_a_member", "revoked", "misbehaved"])
    #expect(Set(causes.map(\.word)).count == causes.count)
  }

  @Test func `metrics are lines of text in which nothing can be taken for something else`() {
    var metrics = Metrics()
    metrics.add("running", .gauge, "Whether it runs.", 1)
    metrics.add("empty", .gauge, "Nothing.", [])
    metrics.add(
      "sent_total", .counter, "Bytes.",
      [
        ([("peer", "a \"b\"\\c\nd"), ("lane", "records")], 12_345_678_901),
        ([("peer", "e"), ("lane", "records")], 0.25),
      ])
    #expect(
      metrics.text == """
        # HELP waymark_running Whether it runs.
        # TYPE waymark_running gauge
        waymark_running 1
        # HELP waymark_sent_total Bytes.
        # TYPE waymark_sent_total counter
        waymark_sent_total{peer="a \\"b\\"\\\\c\\nd",lane="records"} 12345678901
        waymark_sent_total{peer="e",lane="records"} 0.25

        """)
    #expect(Metrics.number(-3) == "-3" && Metrics.number(-1.5) == "-1.5")
  }
}
