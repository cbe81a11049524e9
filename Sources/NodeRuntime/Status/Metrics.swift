import Engine
import Platform
import Home
import JSONDocument
import Membership
import Reasons
import Replication
import Storage
import Transport
import Wire

/// The metrics of a node, which can be written in the Prometheus text format, version 0.0.4.
package struct Metrics: Codable, Sendable {
  package enum Kind: String, Codable, Sendable { case gauge, counter }

  /// A metric with its samples.
  package struct Family: Codable, Sendable {
    let name: String
    let type: Kind
    let help: String
    var samples: [Sample]
  }

  /// One value of a metric, with its labels.
  package struct Sample: Codable, Sendable {
    let labels: Labels
    let value: Double
  }

  /// The labels of a sample, in order.
  package struct Labels: Codable, Sendable {
    let pairs: [(name: String, value: String)]

    init(_ pairs: [(String, String)]) { self.pairs = pairs.map { (name: $0.0, value: $0.1) } }

    package init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: DocumentKey.self)
      pairs = try container.allKeys.map { ($0.stringValue, try container.decode(String.self, forKey: $0)) }
    }

    package func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: DocumentKey.self)
      for pair in pairs { try container.encode(pair.value, forKey: DocumentKey(pair.name)) }
    }
  }

  package private(set) var families: [Family] = []

  mutating func add(
    _ name: String, _ kind: Kind, _ help: String, _ samples: [(labels: [(String, String)], value: Double)]
  ) {
    families.append(
      Family(
        name: "waymark_" + name, type: kind, help: help,
        samples: samples.map { Sample(labels: Labels($0.labels), value: $0.value) }))
  }

  mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Double) {
    add(name, kind, help, [([], value)])
  }

  /// The metrics in the Prometheus text format, without metrics that have no samples.
  package var text: String {
    families.filter { !$0.samples.isEmpty }.map { family in
      let head = "# HELP \(family.name) \(family.help)\n# TYPE \(family.name) \(family.type.rawValue)\n"
      return head
        + family.samples.map { sample in
          let inner = sample.labels.pairs.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(
            separator: ",")
          return family.name + (inner.isEmpty ? "" : "{\(inner)}") + " \(Self.number(sample.value))\n"
        }.joined()
    }.joined()
  }

  static func number(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : "\(value)"
  }

  static func escaped(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }
}

extension NodeInspection {
  package func metrics() throws -> Metrics {
    let status = try status()
    var metrics = Metrics()
    addNode(status, &metrics)
    addLanes(status, &metrics)
    addPeers(status, &metrics)
    addReasons(status, &metrics)
    addCounters(&metrics)
    return metrics
  }

  private func addNode(_ status: NodeStatus, _ metrics: inout Metrics) {
    let traits = WaymarkVersion.traits.joined(separator: " ")
    metrics.add(
      "build_info", .gauge, "The version of the program and how it was built; always 1.",
      [([("version", WaymarkVersion.text), ("traits", traits)], 1)])
    metrics.add("running", .gauge, "Whether a node is serving this home.", status.isServing ? 1 : 0)
    if let started = status.servingSince?.milliseconds {
      metrics.add(
        "start_time_seconds", .gauge, "When the node began to serve, as Unix time.", seconds(started))
      metrics.add(
        "uptime_seconds", .gauge, "How long the node has been serving.", seconds(max(0, now - started)))
    }
    metrics.add(
      "premium_active", .gauge, "Whether this device has premium.", status.sync.premium.isActive ? 1 : 0)
    if let until = status.sync.premium.validUntil?.milliseconds {
      metrics.add("premium_end_timestamp_seconds", .gauge, "When premium ends, as Unix time.", seconds(until))
    }
    metrics.add("conflicts", .gauge, "Unresolved conflicts.", Double(status.conflicts))
    metrics.add(
      "unreplicated_change_sets", .gauge, "Change sets that no other device is known to hold.",
      Double(status.replicationRisk.changeSets))
    let home = maintenance.home
    let files = ["store": home.store, "log": home.store + "-wal"]
    metrics.add(
      "store_size_bytes", .gauge, "The size of the store and of its write-ahead log.",
      files.sorted { $0.key < $1.key }.map { name, path in ([("file", name)], Double(Files.size(path) ?? 0)) }
    )
    if let free = Disk(home.path)?.free {
      metrics.add("disk_free_bytes", .gauge, "Free space on the disk of the store.", Double(free))
    }
  }

  private func addLanes(_ status: NodeStatus, _ metrics: inout Metrics) {
    let lanes = [("records", status.records), ("settings", status.settings)]
    func samples(_ value: (NodeStatus.Lane) -> Double) -> [(labels: [(String, String)], value: Double)] {
      lanes.map { ([("lane", $0.0)], value($0.1)) }
    }
    metrics.add(
      "lane_open", .gauge, "Whether the lane is open on this device.", samples { $0.isOpen ? 1 : 0 })
    metrics.add(
      "change_sets", .gauge, "Change sets stored on this device.", samples { Double($0.changeSets) })
    metrics.add(
      "parked_change_sets", .gauge, "Parked change sets: dated in the future, or depending on one that is.",
      samples { Double($0.parked) })
  }

  private func addPeers(_ status: NodeStatus, _ metrics: inout Metrics) {
    func labels(_ peer: Peer) -> [(String, String)] {
      [("peer", peer.name), ("device", String(peer.device.description.prefix(16)))]
    }
    func samples(_ value: (Peer) -> Double?) -> [(labels: [(String, String)], value: Double)] {
      status.peers.compactMap { peer in value(peer).map { (labels(peer), $0) } }
    }
    func laneSamples(
      _ value: (Peer, Lane) -> Double?
    ) -> [(labels: [(String, String)], value: Double)] {
      status.peers.flatMap { peer in
        Lane.allCases.compactMap { lane in
          value(peer, lane).map { (labels(peer) + [("lane", "\(lane)")], $0) }
        }
      }
    }
    metrics.add(
      "peer_connected", .gauge, "Whether there is a session with the peer.",
      samples { replica.session(with: $0.device) == nil ? 0 : 1 })
    metrics.add(
      "peer_in_sync", .gauge, "Whether all open lanes are equal on this device and the peer.",
      samples { $0.state == .inSync ? 1 : 0 })
    metrics.add(
      "peer_behind_change_sets", .gauge, "Change sets that the peer has and this device lacks.",
      laneSamples { peer, lane in (lane == .records ? peer.records : peer.settings).behind.map(Double.init) })
    metrics.add(
      "peer_ahead_change_sets", .gauge, "Change sets that this device has and the peer lacks.",
      laneSamples { peer, lane in (lane == .records ? peer.records : peer.settings).ahead.map(Double.init) })
    metrics.add(
      "peer_last_sync_timestamp_seconds", .gauge, "When a lane was last equal on both sides, as Unix time.",
      laneSamples { peer, lane in replica.holdings[peer.device]?[lane].levelAt.map(seconds) })
    metrics.add(
      "peer_last_seen_timestamp_seconds", .gauge, "When the peer was last connected, as Unix time.",
      samples { ($0.lastSeen?.milliseconds).map(seconds) })
    metrics.add(
      "peer_round_trip_seconds", .gauge, "The round-trip time of the last heartbeat to the peer.",
      samples { ($0.roundTrip?.wholeMilliseconds).map(seconds) })
    metrics.add(
      "peer_clock_skew_seconds", .gauge, "How far the peer's clock is ahead of this machine's.",
      samples { ($0.clockSkew?.wholeMilliseconds).map(seconds) })
  }

  private func addReasons(_ status: NodeStatus, _ metrics: inout Metrics) {
    metrics.add(
      "reason_present", .gauge,
      "Root causes of current problems, by reason; always 1.",
      status.causes.map { cause in
        let labels = [
          ("reason", cause.reason.rawValue), ("severity", cause.reason.severity.rawValue),
          ("peer", cause.peer?.name ?? ""),
        ]
        return (labels, 1)
      }.uniqueByLabels)
  }

  private func addCounters(_ metrics: inout Metrics) {
    func samples(_ counts: [String: UInt64]) -> [(labels: [(String, String)], value: Double)] {
      counts.sorted { $0.key < $1.key }.map { ([("reason", $0.key)], Double($0.value)) }
    }
    guard let serving = connections.serving else { return }
    let counters = connections.counters
    metrics.add(
      "change_sets_applied_total", .counter, "Change sets stored since the node started.",
      Lane.allCases.map { ([("lane", "\($0)")], Double(counters.applied[$0] ?? 0)) })
    metrics.add(
      "change_sets_rejected_total", .counter, "Change sets received but not stored since the node started.",
      samples(counters.rejected))
    metrics.add(
      "purchases_verified_total", .counter, "App Store purchases verified since the node started.",
      Double(replica.circle.purchasesVerified))
    metrics.add(
      "connections_refused_total", .counter, "Connections closed by this node since it started.",
      samples(counters.refused))
    metrics.add(
      "beacons_sent_total", .counter, "Beacons sent on local networks since the node started.",
      Double(counters.beaconsSent))
    metrics.add(
      "beacons_believed_total", .counter,
      "Valid beacons received from members since the node started.",
      Double(counters.beaconsBelieved))
    metrics.add(
      "files_freed_total", .counter, "Files deleted since the node started, because their records are gone.",
      Double(counters.freed.files))
    metrics.add(
      "files_freed_bytes_total", .counter, "The bytes of these files.", Double(counters.freed.bytes))
    let live = serving.links.values.map(\.link.byteCounts)
    metrics.add(
      "network_received_bytes_total", .counter, "Bytes received from peers since the node started.",
      Double(counters.bytesReceived) + Double(live.reduce(0) { $0 + $1.received }))
    metrics.add(
      "network_sent_bytes_total", .counter, "Bytes sent to peers since the node started.",
      Double(counters.bytesSent) + Double(live.reduce(0) { $0 + $1.sent }))
  }
}

extension [(labels: [(String, String)], value: Double)] {
  /// The samples without those whose labels repeat earlier ones, which Prometheus would reject. A reason may be present
  /// twice, with different texts.
  fileprivate var uniqueByLabels: Self {
    var seen: Set<String> = []
    return filter { seen.insert($0.labels.map(\.1).joined(separator: "\0")).inserted }
  }
}

private func seconds(_ milliseconds: Int64) -> Double { Double(milliseconds) / 1_000 }
