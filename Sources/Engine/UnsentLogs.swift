package import Replication
package import Storage
package import Wire

/// Of own logs the newest set that may have been sent to someone, sequence 0 if none; what is behind it has been
/// sent to nobody. A log that is not named may have been sent whole.
package struct UnsentLogs {
  package private(set) var sent: [LogKey: LogHead] = [:]
  private let device: DeviceKey

  /// What the last run kept, and the logs that this one will write: all that is in them may have been sent.
  init(_ store: Store, device: DeviceKey, incarnation: Incarnation) throws {
    self.device = device
    for line in try store.metaLines(MetaKey.unsent) { read(line) }
    let known = sent.count
    for lane in Lane.allCases {
      let log = LogKey(device: device, incarnation: incarnation, lane: lane)
      if sent[log] == nil { sent[log] = store.newestHead(of: log) }
    }
    // Where there is no room it is said again at the next start, of all that is there then.
    if sent.count > known { try saveIfRoom(store) }
  }

  /// Keeps it unless the disk is full; an error that leaves open what is durable is not passed over.
  func saveIfRoom(_ store: Store) throws {
    do { try save(store) } catch  where isNoRoom(error) {}
  }

  /// One line a log: device, incarnation, lane, sequence, id.
  private mutating func read(_ line: String) {
    let words = line.split(separator: " ").map(String.init)
    guard words.count == 5, let author = DeviceKey(hex: words[0]), author == device,
      let incarnation = Incarnation(hex: words[1]), let lane = UInt8(words[2]).flatMap(Lane.init(rawValue:)),
      let sequence = UInt64(words[3]), let id = ChangeSetID(hex: words[4])
    else { return }
    let log = LogKey(device: author, incarnation: incarnation, lane: lane)
    sent[log] = LogHead(log: log, sequence: sequence, id: id, foldedSequence: sequence)
  }

  func save(_ store: Store) throws {
    let lines = sent.values.sorted { $0.log < $1.log }.map {
      "\($0.log.device) \($0.log.incarnation) \($0.log.lane.rawValue) \($0.sequence) \($0.id)"
    }
    try store.setMetaLines(MetaKey.unsent, lines)
  }

  func hasUnsent(_ log: LogKey, in store: Store) -> Bool {
    guard let head = sent[log] else { return false }
    return store.newestHead(of: log).sequence > head.sequence
  }

  /// The logs of a lane that hold sets which nobody was sent.
  package func unsent(_ lane: Lane, in store: Store) -> [LogHead] {
    sent.values.filter { $0.log.lane == lane && hasUnsent($0.log, in: store) }.sorted { $0.log < $1.log }
  }

  // MARK: Changes

  mutating func forget(_ lane: Lane) { sent = sent.filter { $0.key.lane != lane } }

  mutating func forget(_ log: LogKey) { sent[log] = nil }

  /// Someone has these sets: they came from there.
  mutating func moved(to head: LogHead) {
    if let known = sent[head.log], known.sequence < head.sequence { sent[head.log] = head }
  }

  /// The logs of a new incarnation, in the lanes that are held.
  mutating func begin(_ incarnation: Incarnation) {
    for lane in Set(sent.keys.map(\.lane)) {
      let log = LogKey(device: device, incarnation: incarnation, lane: lane)
      sent[log] = LogHead(log: log, sequence: 0, id: ChangeSetID(.zero), foldedSequence: 0)
    }
  }
}
