import Engine
import Replication
import Storage
import VirtualDisk
import Wire

/// What a member brings that has promised everything: a small set of its own every so often, and nothing else.
struct Trickle {
  /// In a log of their own, one after the other, by lane.
  let sets: [Lane: [RawChangeSet]]
  /// How many times it has brought one, by connection.
  var given: [LinkID: Int] = [:]

  var count: Int { sets.values.map(\.count).max() ?? 0 }
}

extension World {
  /// Somebody who brings nothing at all is soon passed over; who brings a little seems to keep what was promised.
  func beginTrickle(_ process: Process) -> Bool {
    let device = process.device
    guard device.trickle == nil else { return false }
    var sets: [Lane: [RawChangeSet]] = [:]
    let count = random.logarithmic(40, 320)
    for lane in Lane.allCases {
      guard var position = position(lane, process, isFresh: true) else { return false }
      // They stand on nothing, so nobody has to ask for anything before they count.
      position.unseen = []
      sets[lane] = written(position, lane, 0, device, count: count)
    }
    device.trickle = Trickle(sets: sets)
    trickle(device.number)
    return true
  }

  /// Lets the next of its sets go to everybody, who have been promised all of them, and more of every other log.
  func trickle(_ number: Int) {
    let device = devices[number]
    guard !device.isGone, var trickle = device.trickle else { return }
    if let process = device.process, process.isServing {
      // Nothing else of it gets through: see `meddled`.
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
    // First the promise, so that all is asked for of which it then brings a little.
    guard given > 0, given <= sets.count else { return }
    process.send(Message.encodedSets(lane, [sets[given - 1]]), to: link)
    tally.count("trickled")
  }

  /// Heads of every log as if there were more of each here than anywhere, and of the one that is brought from.
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
