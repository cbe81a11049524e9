// Protocol/files.md, "What a device keeps"

package import FileFormat
import FileStore
import Membership
package import Records
package import Replication
package import Storage
package import Wire

// Which files this device fetches and drops.
//
// The keep policy decides what is wanted (`toFetch`), each time that records begin to name files. What is here is
// reviewed when the node begins to serve, after a change of the policy, once an hour, and five minutes after a file could
// not be written. A review drops what the policy does not keep, as far as another device keeps it, and asks the connected
// devices about the other files. Their answers are what the next review, and `status`, can rely on.

extension Replicator {
  // MARK: Policy

  /// Which files this device keeps.
  package var keepPolicy: FileKeepPolicy { transfers.policy }

  /// Changes which files this device keeps: begins or stops fetching, and drops files.
  ///
  /// - Throws: errors of the store. Nothing has changed then.
  package func setKeepPolicy(_ policy: FileKeepPolicy, now: Now) throws {
    guard policy != transfers.policy else { return }
    try store.setKeepPolicy(policy)
    transfers.policy = policy
    turn(now) {
      var effects: [Effect] = []
      trying {
        // Those that the new policy wants are added again by `tellFiles`.
        let unwanted = replica.wantedFiles.filter { transfers.askedFor[$0] == nil }
        if !unwanted.isEmpty, !policy.keepsAll { handle(.unwanted(unwanted), now, &effects) }
        transfers.isIncomplete = true
      }
      handle(.policy(keepsAll: policy.keepsAll), now, &effects)
      perform(effects, now)
    }
  }

  /// Returns those of the files that the policy, or a person, wants to be fetched.
  func toFetch(_ files: [FileReference]) throws -> [FileReference] {
    guard !files.isEmpty else { return [] }
    var kept = 0
    if case .upTo = transfers.policy { kept = try store.filesHereTotal().bytes + replica.wantedFileBytes }
    var quotas = try fileQuotas(with: files)
    let fetched = try files.filter { file in
      guard file.canExist, !replica.isWanted(file), (try? store.files.has(file)) == false else {
        return false
      }
      let isAskedFor = transfers.askedFor[file] != nil
      let isFetched = FileDecision.isFetched(
        file, try store.naming(of: file), transfers.policy, isAskedFor: isAskedFor, keptBytes: kept)
      if isFetched, !isAskedFor, quotas?.admits(file) == false { return false }
      if isFetched { kept += file.size }
      return isFetched
    }
    transfers.overQuota.formUnion(quotas?.exceeded ?? [])
    return fetched
  }

  /// Returns how much of its quota each device's files use; nil if not even all files together use the smallest one.
  func fileQuotas(with files: [FileReference]) throws -> FileQuotas? {
    let (evaluation, device) = (circle.evaluation, device)
    let quota = { (author: DeviceKey) in evaluation.filesQuota(of: author, at: device) }
    let total = try store.filesHereTotal().bytes + replica.wantedFileBytes + files.reduce(0) { $0 + $1.size }
    guard let smallest = evaluation.members.keys.compactMap(quota).min(), total > smallest else { return nil }
    return FileQuotas(
      try store.filesByAuthor(),
      isUsed: { [replica] in replica.isWanted($0) || (try? store.files.has($0)) == true }, quota: quota)
  }

  // MARK: Review

  /// Drops files according to the policy, and asks about those of which no other device is known to keep a copy.
  func reviewFiles(_ now: Now, _ following: inout [Effect]) {
    guard canStore else { return }
    // For these files there was no room, although there was some for the store.
    retryFiles()
    forgetFormerHolders()
    trying {
      for device in transfers.unrecorded.sorted() { try store.noteKeepsNothing(device) }
      transfers.unrecorded = []
      let dropped = FileDecision.dropped(try store.keptFiles(), transfers.policy, now: now.wall)
        .filter { transfers.askedFor[$0] == nil }
      try store.drop(dropped)
      if !dropped.isEmpty { handle(.unwanted(dropped), now, &following) }
      // Records that were hidden may have become visible with their parents, and dropped files have made room.
      transfers.isIncomplete = true
      let files = try filesToAskAbout()
      if !files.isEmpty { handle(.inquire(files, of: nil), now, &following) }
    }
  }

  /// Returns the files here of which no other device is known to keep a copy, and those elsewhere that are not fetched.
  /// The exchange itself asks about those that are.
  private func filesToAskAbout() throws -> [FileReference] {
    let here = try store.filesWithoutKeeper(limit: Limits.filesWantedMax)
    guard !transfers.policy.keepsAll || !transfers.overQuota.isEmpty else { return here }
    return here + (try store.filesMissing(limit: Limits.filesWantedMax).filter { !replica.isWanted($0) })
  }

  /// Asks a device that has connected who has which files. Asks about at least one file, because the answer also says
  /// whether the device keeps all files.
  func inquire(of device: DeviceKey, _ now: Now, _ following: inout [Effect]) {
    transfers.keepsNothing.remove(device)
    trying {
      var files = try filesToAskAbout()
      if files.isEmpty { files = Array(try store.filesHere().prefix(1)) }
      if !files.isEmpty { handle(.inquire(files, of: device), now, &following) }
    }
  }

  /// Forgets what devices have said that are no longer members. Their copies are out of reach.
  func forgetFormerHolders() {
    guard canStore else { return }
    trying { try store.forgetHolders(except: Set(circle.evaluation.members.keys)) }
  }

  // MARK: Files that people ask for

  /// Fetches a file that a person waits for, whatever the policy. The caller must call `stopAsking` once.
  package func ask(for file: FileReference, now: Now) {
    transfers.askedFor[file, default: 0] += 1
    transfers.failed.remove(file)
    turn(now) {
      var effects: [Effect] = []
      let wasWanted = replica.isWanted(file)
      handle(.wanted([file], isUrgent: true), now, &effects)
      if wasWanted { handle(.inquire([file], of: nil), now, &effects) }
      perform(effects, now)
    }
  }

  /// Ends the wait for a file, whether or not it has arrived.
  package func stopAsking(for file: FileReference, now: Now) {
    guard let count = transfers.askedFor[file] else { return }
    transfers.askedFor[file] = count > 1 ? count - 1 : nil
    guard isOpen, count == 1, replica.isWanted(file), !transfers.policy.keepsAll else { return }
    turn(now) {
      var effects: [Effect] = []
      handle(.unwanted([file]), now, &effects)
      // The policy may want it all the same.
      transfers.wanted.append(file)
      perform(effects, now)
    }
  }

  /// Whether a file could not be written to the disk when it last arrived.
  package func hasFailed(_ file: FileReference) -> Bool { transfers.failed.contains(file) }

  // MARK: Where files are

  /// The devices of which some files are not fetched, because they exceed the quota.
  package var devicesOverFileQuota: [DeviceKey] { transfers.overQuota.sorted() }

  /// Whether files that this device wants can arrive from a connected device.
  package var isExpectingFiles: Bool { transfers.isIncomplete || replica.isExpectingFiles }

  /// Returns what is known about where a file is.
  package func location(of file: FileReference) throws -> FileLocation {
    guard (try? store.files.has(file)) != true else {
      return FileLocation(isHere: true, receivedBytes: 0, sources: [], holders: [])
    }
    let progress = replica.progress(of: file)
    return FileLocation(
      isHere: false, receivedBytes: max(progress?.bytes ?? 0, store.files.partBytes(of: file)),
      sources: progress?.sources ?? [], holders: try store.holders(of: file).filter { $0 != device })
  }
}
