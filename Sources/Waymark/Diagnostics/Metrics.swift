import Foundation
import Replication
import Storage
import Transport
import Wire

/// Numbers in the text format of Prometheus, version 0.0.4.
struct Metrics {
  enum Kind: String { case gauge, counter }

  struct Family {
    let name: String
    let kind: Kind
    let help: String
    var samples: [(labels: [(String, String)], value: Double)]
  }

  private(set) var families: [Family] = []

  mutating func add(
    _ name: String, _ kind: Kind, _ help: String, _ samples: [(labels: [(String, String)], value: Double)]
  ) {
    families.append(Family(name: "waymark_" + name, kind: kind, help: help, samples: samples))
  }

  mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Double) {
    add(name, kind, help, [([], value)])
  }

  /// Families without a sample are left out: their head alone would say nothing.
  var text: String {
    families.filter { !$0.samples.isEmpty }.map { family in
      let head = "# HELP \(family.name) \(family.help)\n# TYPE \(family.name) \(family.kind.rawValue)\n"
      return head
        + family.samples.map { labels, value in
          let inner = labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
          return family.name + (inner.isEmpty ? "" : "{\(inner)}") + " \(Self.number(value))\n"
        }.joined()
    }.joined()
  }

  static func number(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : "\(value)"
  }

  static func escaped(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }

  var json: JSON {
    .array(
      families.map { family in
        [
          "name": .string(family.name), "type": .string(family.kind.rawValue), "help": .string(family.help),
          "samples": .array(
            family.samples.map { labels, value in
              [
                "labels": .object(labels.map { JSON.Member($0.0, .string($0.1)) }), "value": .float(value),
              ]
            }),
        ]
      })
  }
}

extension Node {
  func showMetrics(_ request: CommandRequest) throws -> JSON {
    let metrics = try metrics()
    return document(
      request.command,
      [.init("text", .string(metrics.text)), .init("metrics", metrics.json), .init("written", .null)])
  }

  private func metrics() throws -> Metrics {
    let (snapshot, now) = (try snapshot(), wall())
    var metrics = Metrics()
    addNode(snapshot, now, &metrics)
    addLanes(snapshot, &metrics)
    addPeers(snapshot, &metrics)
    addReasons(snapshot, &metrics)
    addCounters(&metrics)
    return metrics
  }

  private func addNode(_ snapshot: NodeSnapshot, _ now: Moment, _ metrics: inout Metrics) {
    let traits = WaymarkVersion.traits.joined(separator: " ")
    metrics.add(
      "build_info", .gauge, "The version of the program and how it was built; always 1.",
      [([("version", WaymarkVersion.text), ("traits", traits)], 1)])
    metrics.add("running", .gauge, "Whether a node serves this home.", snapshot.isRunning ? 1 : 0)
    if let started = snapshot.runningSince {
      metrics.add(
        "start_time_seconds", .gauge, "When the node began to serve, as Unix time.", seconds(started))
      metrics.add(
        "uptime_seconds", .gauge, "For how long the node has served.", seconds(max(0, now - started)))
    }
    metrics.add(
      "premium_active", .gauge, "Whether this device has premium.", snapshot.premium.isActive ? 1 : 0)
    if let until = snapshot.premium.validUntil {
      metrics.add("premium_end_timestamp_seconds", .gauge, "When premium ends, as Unix time.", seconds(until))
    }
    metrics.add("conflicts", .gauge, "Conflicts that wait for a decision.", Double(snapshot.conflicts))
    metrics.add(
      "unreplicated_change_sets", .gauge, "Change sets that no other device is known to hold.",
      Double(snapshot.loss.changeSets))
    let files = ["store": home.store, "log": home.store + "-wal"]
    metrics.add(
      "store_size_bytes", .gauge, "The size of the store and of its write-ahead log.",
      files.sorted { $0.key < $1.key }.map { name, path in ([("file", name)], Double(Files.size(path) ?? 0)) }
    )
    if let free = Disk(home.path)?.free {
      metrics.add("disk_free_bytes", .gauge, "Room that is left on the disk of the store.", Double(free))
    }
  }

  private func addLanes(_ snapshot: NodeSnapshot, _ metrics: inout Metrics) {
    let lanes = [("records", snapshot.records), ("settings", snapshot.settings)]
    func samples(_ value: (LaneSnapshot) -> Double) -> [(labels: [(String, String)], value: Double)] {
      lanes.map { ([("lane", $0.0)], value($0.1)) }
    }
    metrics.add(
      "lane_open", .gauge, "Whether this device lets a lane flow.", samples { $0.isOpen ? 1 : 0 })
    metrics.add(
      "change_sets", .gauge, "Change sets in the store.", samples { Double($0.changeSets) })
    metrics.add(
      "parked_change_sets", .gauge, "Change sets that wait for their time.", samples { Double($0.parked) })
  }

  private func addPeers(_ snapshot: NodeSnapshot, _ metrics: inout Metrics) {
    func labels(_ peer: PeerSnapshot) -> [(String, String)] {
      [("peer", peer.name), ("device", String(peer.device.description.prefix(16)))]
    }
    func samples(_ value: (PeerSnapshot) -> Double?) -> [(labels: [(String, String)], value: Double)] {
      snapshot.peers.compactMap { peer in value(peer).map { (labels(peer), $0) } }
    }
    func laneSamples(
      _ value: (PeerSnapshot, Lane) -> Double?
    ) -> [(labels: [(String, String)], value: Double)] {
      snapshot.peers.flatMap { peer in
        Lane.allCases.compactMap { lane in
          value(peer, lane).map { (labels(peer) + [("lane", "\(lane)")], $0) }
        }
      }
    }
    metrics.add(
      "peer_connected", .gauge, "Whether there is a session with the peer.",
      samples { replica.session(with: $0.device) == nil ? 0 : 1 })
    metrics.add(
      "peer_in_sync", .gauge, "Whether all open lanes are equal on both sides.",
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
      samples { $0.lastSeen.map(seconds) })
    metrics.add(
      "peer_round_trip_seconds", .gauge, "How long the last sign of life of the peer took.",
      samples { $0.roundTripMilliseconds.map(seconds) })
    metrics.add(
      "peer_clock_skew_seconds", .gauge, "How far the peer's clock is ahead of this machine's.",
      samples { $0.clockSkewMilliseconds.map(seconds) })
  }

  private func addReasons(_ snapshot: NodeSnapshot, _ metrics: inout Metrics) {
    metrics.add(
      "reason_present", .gauge,
      "What keeps something from being in order, without what only follows; always 1.",
      snapshot.causes.map { cause in
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
    guard let network else { return }
    metrics.add(
      "change_sets_applied_total", .counter, "Change sets taken into the store since the node started.",
      Lane.allCases.map { ([("lane", "\($0)")], Double(counters.applied[$0] ?? 0)) })
    metrics.add(
      "change_sets_rejected_total", .counter, "Change sets not taken into the store since the node started.",
      samples(counters.rejected))
    metrics.add(
      "connections_refused_total", .counter, "Connections ended by this side since the node started.",
      samples(counters.refused))
    metrics.add(
      "beacons_sent_total", .counter, "Beacons sent on local networks since the node started.",
      Double(counters.beaconsSent))
    metrics.add(
      "beacons_believed_total", .counter,
      "Beacons of members that named an address to dial, since the node started.",
      Double(counters.beaconsBelieved))
    let live = network.links.values.map(\.link.byteCounts)
    metrics.add(
      "network_received_bytes_total", .counter, "Bytes received from peers since the node started.",
      Double(counters.bytesReceived) + Double(live.reduce(0) { $0 + $1.received }))
    metrics.add(
      "network_sent_bytes_total", .counter, "Bytes sent to peers since the node started.",
      Double(counters.bytesSent) + Double(live.reduce(0) { $0 + $1.sent }))
  }
}

extension [(labels: [(String, String)], value: Double)] {
  /// The same notice may stand twice, with other words; a sample may not.
  fileprivate var uniqueByLabels: Self {
    var seen: Set<String> = []
    return filter { seen.insert($0.labels.map(\.1).joined(separator: "\0")).inserted }
  }
}

private func seconds(_ milliseconds: Int64) -> Double { Double(milliseconds) / 1_000 }
