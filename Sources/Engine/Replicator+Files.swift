// Protocol/files.md, "Exchange"

package import FileFormat
package import FileStore
import RecordTables
import Records
package import Replication
import Storage
import Wire

/// What the replicator remembers about files between inputs.
struct FileTransfers {
  /// Slices that wait until their link is no longer congested, in order.
  var waiting: [LinkID: [FileSlice]] = [:]
  /// How many leaves from each link have been written in this round.
  var leaves: [LinkID: Int] = [:]
  /// Files of which all leaves have been written, and which wait until the shell makes them durable.
  var written: [FileReference] = []
  /// Files that the shell is making durable.
  var finishing: Set<FileReference> = []
  /// Files that records have begun to name since the last round: those that are not here, and those that are.
  var wanted: [FileReference] = []
  var added: [FileReference] = []
  /// Whether all wanted files must be determined again, because it is not known which records have changed.
  var isIncomplete = false
  /// Whether more files are missing than the exchange has been given.
  var hasMore = false
  /// Files that could not be written. They are tried again after the next start, at the next review, or when the disk has
  /// room again.
  var failed: Set<FileReference> = []
  /// The lists of files that were served lately.
  var lists = ServedLists()
  /// Which files this device keeps.
  var policy = FileKeepPolicy.all
  /// The devices of which some files were not fetched, because they exceed the quota.
  var overQuota: Set<DeviceKey> = []
  /// The files that people wait for, with the number of those who do.
  var askedFor: [FileReference: Int] = [:]
  /// The devices that have said that they do not keep all files, so that this is stored only once.
  var keepsNothing: Set<DeviceKey> = []
  /// The devices that have withdrawn a claim while nothing could be stored. Before a file is dropped, all of their claims
  /// are forgotten.
  var unrecorded: Set<DeviceKey> = []
}

/// Leaf lists of files that are being served. Peers request several files at once, and for a small one, each miss would
/// cost reading the whole file.
struct ServedLists {
  /// The list that was used last is the last one.
  private var lists: [LeafList] = []
  private var hashes = 0

  mutating func list(of file: FileReference, make: () throws -> LeafList) rethrows -> LeafList {
    if let index = lists.lastIndex(where: { $0.reference == file }) {
      let list = lists[index]
      if index < lists.count - 1 { lists.append(lists.remove(at: index)) }
      return list
    }
    let list = try make()
    lists.append(list)
    hashes += list.hashes.count
    while lists.count > 1, hashes > Self.hashesMax || lists.count > Self.listsMax {
      hashes -= lists.removeFirst().hashes.count
    }
    return list
  }

  mutating func remove(_ file: FileReference) {
    guard let index = lists.firstIndex(where: { $0.reference == file }) else { return }
    hashes -= lists.remove(at: index).hashes.count
  }

  private static let listsMax = 64
  /// 128 KiB of hashes, or one longer list.
  private static let hashesMax = 4_096
}

extension Replicator {
  // MARK: Effects

  func carryOut(_ effect: FileEffect, _ now: Now, _ following: inout [Effect]) {
    switch effect {
    case .serve(let link, let slice):
      if transfers.waiting[link] != nil || isCongested(link, for: .file) {
        transfers.waiting[link, default: []].append(slice)
      } else {
        serve(slice, link, now, &following)
      }
    case .lookUp(let link, let files):
      trying {
        // Peers rely on the copy here, so it must be durable.
        let here = try files.filter {
          try store.isNamed($0) && !transfers.finishing.contains($0) && (try? store.files.has($0)) == true
        }
        handle(.lookedUp(link, here: here), now, &following)
      }
    case .readPart(let file): handle(.partRead(file, try? store.files.partial(file)), now, &following)
    case .begin(let list):
      writing(list.reference, now, &following) { try store.files.begin(list) }
    case .write(let leaf, let link):
      writing(leaf.file, now, &following) {
        if leaf.file.leafCount == 1 {
          try store.files.write(whole: leaf.file, leaf.bytes)
        } else {
          try store.files.write(leaf.bytes, leaf: leaf.index, of: leaf.file)
        }
      }
      transfers.leaves[link, default: 0] += 1
    case .finish(let file):
      if file.leafCount == 0 { writing(file, now, &following) { try store.files.write(whole: file, []) } }
      if !transfers.failed.contains(file), !transfers.finishing.contains(file) {
        transfers.written.append(file)
      }
    case .suspend(let file): store.files.suspend(file)
    case .learned(let device, let asked, let held, let keepsAll):
      guard canStore else {
        if !keepsAll || held.count < asked.count { transfers.unrecorded.insert(device) }
        return
      }
      trying {
        if keepsAll {
          transfers.keepsNothing.remove(device)
        } else if transfers.keepsNothing.insert(device).inserted {
          try store.noteKeepsNothing(device)
        }
        try store.noteHolder(device, asked: asked, held: Set(held), keepsAll: keepsAll, now: now.wall)
      }
    case .lacks(let device, let file):
      guard canStore else {
        transfers.unrecorded.insert(device)
        return
      }
      trying { try store.noteHolder(device, asked: [file], held: [], keepsAll: false, now: now.wall) }
    case .refill: if transfers.hasMore { transfers.isIncomplete = true }
    case .review: reviewFiles(now, &following)
    case .send, .charge, .unresponsive, .misbehaved, .schedule:
      preconditionFailure("the replica turns this effect into one of its own: \(effect)")
    }
  }

  func handle(_ input: FileInput, _ now: Now, _ following: inout [Effect]) {
    replica.handle(.file(input), now: now, into: &following)
  }

  /// Writes part of a file. If that fails, the file is given up for now.
  private func writing(
    _ file: FileReference, _ now: Now, _ following: inout [Effect], _ body: () throws -> Void
  ) {
    // A file that was freed in this round is not wanted any more.
    guard !transfers.failed.contains(file), replica.progress(of: file) != nil else { return }
    do {
      try body()
    } catch {
      transfers.failed.insert(file)
      store.files.suspend(file)
      handle(.failed([file]), now, &following)
    }
  }

  // MARK: Finishing

  /// Lets the shell make the files durable of which all leaves have been written. Those that are complete before it is
  /// done wait for the next time, so that files that arrive fast share the syncs of folders.
  private func finish(_ now: Now, _ following: inout [Effect]) {
    guard transfers.finishing.isEmpty, !transfers.written.isEmpty else { return }
    let written = Set(transfers.written)
    transfers.written = []
    // A file may have been freed since it was complete.
    let files = written.filter { store.files.isWritten($0) }
    let lost = written.subtracting(files).filter { replica.isWanted($0) }
    if !lost.isEmpty { handle(.failed(lost.sorted()), now, &following) }
    guard !files.isEmpty else { return }
    transfers.finishing = files
    store.files.beginFinish(files.sorted())
    shell?.finish(files.sorted(), in: store.files)
  }

  /// The shell has made files durable, or could not.
  ///
  /// - Parameter files: those that the shell was given.
  package func finished(_ files: [FileReference], hasFailed: Bool, now: Now) {
    guard isOpen else { return }
    store.files.endFinish(files, hasFailed: hasFailed)
    transfers.finishing = []
    turn(now) {
      var following: [Effect] = []
      if hasFailed {
        transfers.failed.formUnion(files)
        handle(.failed(files), now, &following)
      } else {
        if canStore { trying { for file in files { try store.noteHere(file, usedAt: now.wall) } } }
        // A file that exceeded a quota may have been asked for, and then its device may not exceed it any more.
        if !transfers.overQuota.isEmpty, files.contains(where: { transfers.askedFor[$0] != nil }) {
          transfers.isIncomplete = true
        }
        let wanted = files.filter { replica.isWanted($0) }
        if !wanted.isEmpty { handle(.finished(wanted), now, &following) }
      }
      // The last record that named a file may be gone, and it could not be deleted until now.
      freeing.suspects.formUnion(freeing.finishing)
      freeing.finishing = []
      perform(following, now)
    }
  }

  // MARK: Adding

  /// Notes files that an operation has added and placed, before it writes the records that name them.
  package func noteAdded(_ files: [FileReference], now: Now) throws {
    try store.noteHere(files, usedAt: now.wall)
  }

  /// Ends the addition of files, and removes those that the operation has not named after all. What can't be removed
  /// now is removed at the next start.
  package func endAddition(_ addition: FileAddition, now: Now) {
    let files = addition.end()
    guard isOpen, !disk.isBroken, let removed = try? store.removeUnnamed(files), !removed.isEmpty else {
      return
    }
    // Another addition may have had it noted.
    handle(.file(.unwanted(removed)), now: now)
  }

  // MARK: Serving

  /// Sends the slices that have waited for a link.
  func serveWaiting(_ link: LinkID, _ now: Now) {
    guard let slices = transfers.waiting.removeValue(forKey: link) else { return }
    perform(slices.map { .file(.serve(link, $0)) }, now)
  }

  /// Sends a slice if the file is here and named, and its bytes verify.
  private func serve(_ slice: FileSlice, _ link: LinkID, _ now: Now, _ following: inout [Effect]) {
    var message: [UInt8]?
    do {
      message = try self.message(of: slice)
    } catch FileStoreError.damaged {
      repair(slice.file, now, &following)
    } catch {
      // The peer is told that the file is not here, and asks others.
    }
    if let message { shell?.send(message, to: link, as: .file) }
    handle(.served(link, slice, isSent: message != nil), now, &following)
  }

  private func message(of slice: FileSlice) throws -> [UInt8]? {
    guard try store.isNamed(slice.file), try store.files.has(slice.file) else { return nil }
    let list = try transfers.lists.list(of: slice.file) { try store.files.list(of: slice.file) }
    switch slice.part {
    case .list:
      let hashes = Array(list.hashes[slice.leaves])
      return Message.file(.leafList(slice.file, first: slice.leaves.lowerBound, hashes)).encoded
    case .bytes:
      let index = slice.leaves.lowerBound
      let start = FileMessage.beginLeaf(index, of: slice.file)
      let message = try store.files.read(slice.file, slice.file.range(ofLeaf: index), after: start)
      guard list.verifies(message[start.count...], at: index) else { throw FileStoreError.damaged }
      return message
    }
  }

  /// The largest number of slices that wait for one link.
  package var waitingSlices: Int { transfers.waiting.values.map(\.count).max() ?? 0 }

  // MARK: Damaged files

  /// Fetches a file again whose stored bytes have turned out to be damaged.
  package func repair(_ file: FileReference, now: Now) {
    turn(now) {
      var following: [Effect] = []
      repair(file, now, &following)
      perform(following, now)
    }
  }

  /// Lets a damaged file be fetched again in this round.
  private func repair(_ file: FileReference, _ now: Now, _ following: inout [Effect]) {
    if (try? store.files.has(file)) == true {
      guard (try? store.files.beginRepair(file)) == true else { return }
    }
    transfers.lists.remove(file)
    transfers.failed.remove(file)
    if canStore { trying { try store.noteGone([file]) } }
    // It may have arrived just now, and must not be announced any more.
    handle(.unwanted([file]), now, &following)
    transfers.wanted.append(file)
    shell?.note(.damagedFile(file))
  }

  // MARK: Wanted files

  /// Notes which files the records of a commit name.
  func noteFiles(_ report: CommitReport) {
    guard report.changedValues || report.isRebuilt else { return }
    guard let records = report.records, !report.isRebuilt else { return transfers.isIncomplete = true }
    trying {
      for file in try store.files(namedBy: records.union(report.owned).sorted()) {
        if (try? store.files.has(file)) == true {
          transfers.added.append(file)
        } else {
          transfers.wanted.append(file)
        }
      }
    }
  }

  /// Hands what has changed about files to the exchange. Called in each round of effects.
  func tellFiles(_ now: Now, _ following: inout [Effect]) {
    for (link, count) in transfers.leaves.sorted(by: { $0.key < $1.key }) {
      handle(.written(link, leaves: count), now, &following)
    }
    transfers.leaves = [:]
    finish(now, &following)
    giveUpTrash(now, &following)
    let named = transfers.wanted
    if transfers.isIncomplete {
      transfers.isIncomplete = false
      trying { transfers.wanted += try missingFiles() }
    }
    let added = transfers.added
    var wanted: [FileReference] = []
    var left: [FileReference] = []
    trying {
      wanted = try toFetch(transfers.wanted)
      let fetched = Set(wanted)
      left = named.filter {
        $0.canExist && !fetched.contains($0) && !replica.isWanted($0) && (try? store.files.has($0)) == false
      }
    }
    (transfers.wanted, transfers.added) = ([], [])
    // A person sees where the files are that this device does not fetch by itself.
    if !left.isEmpty { handle(.inquire(left, of: nil), now, &following) }
    if !wanted.isEmpty {
      handle(.wanted(wanted, isUrgent: false), now, &following)
      // The exchange holds a limited number of files. The rest is determined again once it has room.
      let isRefused = wanted.contains { !replica.isWanted($0) && (try? store.files.has($0)) == false }
      if isRefused { transfers.hasMore = true }
    }
    if !added.isEmpty { handle(.added(added), now, &following) }
    freeFiles(now, &following)
  }

  /// Gives up wanted files whose records are all in the trash by now. Those are fetched on request only, and would take
  /// room from others.
  private func giveUpTrash(_ now: Now, _ following: inout [Effect]) {
    trying {
      // If it is not known which records have changed, all wanted files are looked at; not each time that the exchange
      // has room for more of very many files.
      let isUnknown = transfers.isIncomplete && !transfers.hasMore
      let former = try Set(isUnknown ? replica.wantedFiles : transfers.wanted).sorted().filter { file in
        guard replica.isWanted(file), transfers.askedFor[file] == nil else { return false }
        return if case .trash = try store.naming(of: file) { true } else { false }
      }
      guard !former.isEmpty else { return }
      handle(.unwanted(former), now, &following)
      // Others may have room now.
      transfers.isIncomplete = true
    }
  }

  /// Returns files that records show and that are not here, as many as the exchange holds in memory.
  private func missingFiles() throws -> [FileReference] {
    transfers.hasMore = false
    // Without this, the review of each hour would look for files that are not fetched anyway.
    guard transfers.policy != .onDemand else { return [] }
    var missing: [FileReference] = []
    let named = try store.namedFiles()
    var quotas = try fileQuotas(with: named)
    defer { transfers.overQuota = quotas?.exceeded ?? [] }
    for file in named {
      guard file.canExist, !transfers.failed.contains(file), (try? store.files.has(file)) == false,
        !replica.isWanted(file), try store.naming(of: file) == .shown, quotas?.admits(file) ?? true
      else { continue }
      guard missing.count < Limits.filesWantedMax else {
        transfers.hasMore = true
        break
      }
      missing.append(file)
    }
    return missing
  }

  /// Removes files that nothing names, which a crash may have left, and begins to want those that are missing. No file
  /// may be being added.
  func startFiles(_ now: Now, _ effects: inout [Effect]) {
    trying {
      try sweepFiles()
      if canStore { try store.reconcileFiles(named: try store.namedFiles(), now: now.wall) }
      transfers.isIncomplete = true
      freeing.looksAtAll = true
    }
    handle(.policy(keepsAll: transfers.policy.keepsAll), now, &effects)
  }

  /// Tries again to write files for which there was no room.
  func retryFiles() {
    transfers.failed = []
    transfers.isIncomplete = true
  }
}
