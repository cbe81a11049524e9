import Engine
import Replication
import Storage
import VirtualDisk
import Wire

/// The change sets of a member that announces more sets of every log than exist and then delivers only these, one small
/// set at a time.
struct Trickle {
  /// The sets of each lane, in order. The sets of a lane form a new log.
  let sets: [Lane: [RawChangeSet]]
  /// The number of rounds so far on each connection.
  var given: [LinkID: Int] = [:]

  var count: Int { sets.values.map(\.count).max() ?? 0 }
}

extension World {
  /// Starts a trickle; returns false if it can't. A peer that delivers nothing is soon skipped, but one that delivers a
  /// little seems to make progress, so it is harder to detect.
  func beginTrickle(_ process: Process) -> Bool {
    let device = process.device
    guard device.trickle == nil else { return false }
    var sets: [Lane: [RawChangeSet]] = [:]
    let count = random.logarithmic(40, 320)
    for lane in Lane.allCases {
      guard var position = position(lane, process, isFresh: true) else { return false }
      // The sets have no dependencies, so peers can fold them at once, without requesting anything else first.
      position.unseen = []
      sets[lane] = written(position, lane, 0, device, count: count)
    }
    device.trickle = Trickle(sets: sets)
    trickle(device.number)
    return true
  }

  /// Sends the next set of the trickle to every peer. All of the trickle's sets, and nonexistent sets of every log,
  /// have been announced before.
  func trickle(_ number: Int) {
    let device = devices[number]
    guard !device.isGone, var trickle = device.trickle else { return }
    if let process = device.process, process.isServing {
      // While `trickle` is set, `meddled` drops all deliveries by this device, so clear it while sending these.
      device.trickle = nil
      for link in process.links.keys.sorted() {
        let given = trickle.given[link] ?? 0
        for lane in Lane.allCases { self.trickle(trickle.sets[lane] ?? [], given, lane, link, process) }
        trickle.given[link] = given + 1
      }
      device.trickle = trickle
    }
    later(3_000 + Moment(random.below(14_000)), .end(.trickle(number)))
  }

  private func trickle(
    _ sets: [RawChangeSet], _ given: Int, _ lane: Lane, _ link: LinkID, _ process: Process
  ) {
    if given.isMultiple(of: 8) { process.send(promise(sets, lane, process), to: link) }
    // Only announce in the first round, so that peers request everything before the first small delivery.
    guard given > 0, given <= sets.count else { return }
    process.send(Message.encodedSets(lane, [sets[given - 1]]), to: link)
    tally.count("trickled")
  }

  /// Returns a message with heads that claim more sets in every log than exist, plus the trickled log's true head.
  private func promise(_ sets: [RawChangeSet], _ lane: Lane, _ process: Process) -> [UInt8] {
    var heads = process.replicator.store.heads(lane).map { head in
      LogHead(
        log: head.log, sequence: head.sequence + 1 + UInt64(random.below(100)), id: ChangeSetID(random32()),
        foldedSequence: 0)
    }
    if let last = sets.last, let header = try? ChangeSetHeader(decoding: last.header) {
      heads.append(
        LogHead(
          log: header.log, sequence: header.sequence, id: ChangeSetID(header: last.header),
          foldedSequence: 0))
    }
    return Message.heads(lane, heads, complete: false).encoded
  }
}
