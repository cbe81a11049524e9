// Protocol/session.md, "Own logs after a start"

package import Replication
package import Storage
package import Wire

/// The newest set in each of this device's own logs that a peer may have received. All later sets have been sent to no
/// peer.
///
/// The sequence is 0 if no set was sent. All sets of a log without an entry may have been sent.
package struct UnsentLogs {
  package private(set) var sent: [LogKey: LogHead] = [:]
  private let device: DeviceKey

  /// Reads the entries of the previous run, and adds entries for the logs that this run will write. All sets that these
  /// logs contain now may have been sent.
  init(_ store: Store, device: DeviceKey, incarnation: Incarnation) throws {
    self.device = device
    for line in try store.metaLines(MetaKey.unsent) { read(line) }
    let known = sent.count
    for lane in Lane.allCases {
      let log = LogKey(device: device, incarnation: incarnation, lane: lane)
      if sent[log] == nil { sent[log] = store.newestHead(of: log) }
    }
    // If the disk is full, the next start adds these logs again, with the sets that exist then.
    if sent.count > known { try saveIfRoom(store) }
  }

  /// Saves the entries, unless the disk is full. All other errors are thrown, because after them it is unknown what is
  /// durable.
  func saveIfRoom(_ store: Store) throws {
    do { try save(store) } catch  where isNoRoom(error) {}
  }

  /// Parses one line per log: device, incarnation, lane, sequence, id.
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

  /// Returns the logs of a lane that have unsent sets, each as the newest head that may have been sent.
  package func unsent(_ lane: Lane, in store: Store) -> [LogHead] {
    sent.values.filter { $0.log.lane == lane && hasUnsent($0.log, in: store) }.sorted { $0.log < $1.log }
  }

  // MARK: Changes

  mutating func forget(_ lane: Lane) { sent = sent.filter { $0.key.lane != lane } }

  mutating func forget(_ log: LogKey) { sent[log] = nil }

  /// Notes that a peer has the sets up to a head, because the peer has sent that set or its successor.
  mutating func moved(to head: LogHead) {
    if let known = sent[head.log], known.sequence < head.sequence { sent[head.log] = head }
  }

  /// Adds the logs of a new incarnation, in the lanes that are still withheld.
  mutating func begin(_ incarnation: Incarnation) {
    for lane in Set(sent.keys.map(\.lane)) {
      let log = LogKey(device: device, incarnation: incarnation, lane: lane)
      sent[log] = LogHead(log: log, sequence: 0, id: ChangeSetID(.zero), foldedSequence: 0)
    }
  }
}
