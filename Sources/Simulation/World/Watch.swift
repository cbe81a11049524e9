import Engine
import FileFormat
import Membership
import Replication
import SQLite
import Storage
import Verification
import VirtualDisk
import Wire

/// Reports to the judge what happens, in the judge's own types. Keeps the judge's first objection until the event is
/// over.
///
/// Judging has no effect on the run, because the judge reads through its own connections and without disk faults.
final class Watch {
  let judge = Judge()
  private(set) var objection: (any Error)?
  private var looks = 0

  /// One out of this many looks inspects the whole store.
  private static let wholeLooks = 200

  func object(_ error: any Error) { if objection == nil { objection = error } }

  // MARK: Processes

  func started(_ process: Process) throws {
    let device = process.device
    guard device.isHonest else { return judge.introduced(device.name, device: device.key.bytes) }
    try quietly(device) {
      let connection = try Connection(on: process.volume, Device.storeFile)
      try judge.started(
        device.name, device: device.key.bytes, connection: connection, wall: device.wall,
        prefersSync: device.preference)
    }
    try lookAtFiles(device, isStart: true)
  }

  func stopped(_ device: Device) throws { judge.stopped(device.name) }

  /// Lets the judge look at a process after a step, once all effects of the step have been performed.
  func stepped(_ device: Device) throws {
    guard device.isHonest else { return }
    looks += 1
    let isWhole = looks % Self.wholeLooks == 0
    judge.steady = device.world.now
    judge.hasRoom(device.name, device.process?.appliesStatements == true)
    try quietly(device) {
      if isWhole {
        try judge.inspected(device.name, wall: device.wall)
      } else {
        try judge.looked(at: device.name, wall: device.wall)
      }
    }
    try lookAtFiles(device)
    try compareBeliefs(device, isWhole: isWhole || looks.isMultiple(of: 16))
    try judge.awaited(device.name, for: device.process.flatMap(waiting))
  }

  /// Returns how long the least responsive peer has made no progress on a request, in milliseconds; nil if no request
  /// is open.
  private func waiting(_ process: Process) -> Int64? {
    var oldest: Moment?
    for session in process.replicator.replica.sessions.values where !session.isClosing {
      for lane in Lane.allCases {
        guard let progressAt = session[lane].askedProgressAt else { continue }
        oldest = min(oldest ?? progressAt, progressAt)
      }
    }
    return oldest.map { process.world.now - $0 }
  }

  /// Compares what a process believes with its store, and checks the size of its session state.
  private func compareBeliefs(_ device: Device, isWhole: Bool) throws {
    guard let process = device.process, !process.isEnded else { return }
    let replica = process.replicator.replica
    let evaluation = replica.circle.evaluation
    judge.hasRoom(device.name, process.appliesStatements)
    let beliefs = Beliefs(
      statements: replica.circle.count, members: { evaluation.members.keys.map(\.bytes) },
      isGateOpen: replica.ownGate(now: device.wall).isOpen
    ) { author, incarnation, lane in
      guard let author = DeviceKey(bytes: author), let incarnation = Incarnation(bytes: incarnation),
        let lane = Lane(rawValue: UInt8(lane))
      else { return nil }
      let log = LogKey(device: author, incarnation: incarnation, lane: lane)
      guard case .cut(let cuts, _) = evaluation.admission(of: log, at: device.key) else { return nil }
      return cuts.map { $0.map(\.bytes) }
    }
    try judge.believed(device.name, beliefs, isWhole: isWhole)
    guard isWhole else { return }
    for (peer, holding) in replica.holdings.sorted(by: { $0.key < $1.key }) {
      let heads = Lane.allCases.flatMap { holding[$0].heads.sorted }
      try judge.credited(device.name, peer.bytes, with: heads.map(\.id.bytes))
    }
    try measure(device.name, process)
  }

  /// Compares a process's session state with the maximums in Protocol/limits.md.
  private func measure(_ name: String, _ process: Process) throws {
    let sessions = process.replicator.replica.sessions.values
    try judge.measured(name, "the number of sessions", sessions.count, max: 64)
    for session in sessions.sorted(by: { $0.link < $1.link }) {
      for lane in Lane.allCases {
        let state = session[lane]
        try judge.measured(
          name, "the number of logs that a peer has more of", state.lacking.count, max: 32_768)
        try judge.measured(name, "the number of logs asked for", state.asked.count, max: 1_024)
      }
    }
  }

  /// Reports that a store has changed, and may change again before the step is over.
  func passed(_ device: Device) throws {
    guard device.isHonest else { return }
    try quietly(device) { try judge.passed(device.name) }
  }

  func acknowledged(_ device: Device, _ sets: [ChangeSetID]) throws {
    try stepped(device)
    try quietly(device) { try judge.acknowledged(device.name, sets.map(\.bytes), wall: device.wall) }
  }

  /// Reports that a device has applied an override by writing these sets.
  func directed(_ device: Device, _ revert: Revert, _ sets: [ChangeSetID]) throws {
    let records = try judge.directed(device.name, told(revert), sets.map(\.bytes))
    device.world.tally.count("records judged after overrides", by: records ?? 0)
    if records == nil { device.world.tally.count("overrides behind own parked sets") }
  }

  /// Reports that an override is still pending although everything that it needs should have arrived.
  func waits(_ device: Device, _ revert: Revert) throws {
    try stepped(device)
    try judge.waits(device.name, for: told(revert))
  }

  private func told(_ revert: Revert) -> RequestedOverride {
    func told(_ heads: [LogHead]) -> [ToldHead] {
      heads.compactMap {
        ToldHead(
          device: $0.log.device.bytes, incarnation: $0.log.incarnation.bytes, sequence: $0.sequence,
          id: $0.id.bytes, foldedSequence: $0.foldedSequence)
      }
    }
    return RequestedOverride(
      wanted: told(revert.wanted), present: told(revert.present),
      kind: revert.scope.kind.map { Int($0.rawValue) }, isOfTrip: revert.scope.trip != nil)
  }

  func wroteAgain(_ device: Device) throws { try stepped(device) }

  func restored(_ device: Device) throws { judge.mayHaveLost(device.name) }

  func cloned(_ device: Device, as twin: Device) throws {
    let isHidden = device.storeIdentity == twin.storeIdentity
    judge.cloned(device.name, isHidden: isHidden)
    judge.cloned(twin.name, isHidden: isHidden)
    judge.clonedFiles(device.name, as: twin.name)
  }

  func preferred(_ device: Device) throws { judge.preferred(device.name, sync: device.preference) }

  /// Suspends a disk's faults while the judge reads from the disk.
  private func quietly(_ device: Device, _ body: () throws -> Void) throws {
    let faults = device.disk.faults
    device.disk.faults = DiskFaults()
    defer { device.disk.faults = faults }
    try body()
  }

  // MARK: Files

  /// Lets the judge look at the files of a device.
  private func lookAtFiles(_ device: Device, isStart: Bool = false) throws {
    guard device.world.options.files > 0, let process = device.process, !process.isEnded else { return }
    try quietly(device) {
      try judge.lookedAtFiles(device.name, folder(of: device), isStart: isStart)
    }
    guard !isStart else { return }
    let load = process.replicator.replica.fileLoad
    try judge.measured(device.name, "the number of leaves requested from a peer", load.leaves, max: 64)
    try judge.measured(device.name, "the number of requests for files to a peer", load.requests, max: 128)
    try judge.measured(device.name, "the number of files being fetched", load.files, max: 128)
    try judge.measured(
      device.name, "the number of slices for a peer", process.replicator.waitingSlices, max: 4)
  }

  private func folder(of device: Device) -> FolderView {
    let disk = device.disk
    var sizes: [String: Int] = [:]
    for name in disk.names where name.hasPrefix(DeviceFolder.path) {
      sizes[String(name.dropFirst(DeviceFolder.path.count))] = disk.size(of: name)
    }
    let finishing = device.process?.finishing.map { "\($0.id)" } ?? []
    return FolderView(sizes: sizes, hasFailed: device.hasDiskFailed, finishing: finishing) {
      disk.content(of: DeviceFolder.path + $0)
    }
  }

  func altered(_ device: Device, _ name: String) {
    judge.altered(device.name, String(name.dropFirst(DeviceFolder.path.count)))
  }

  /// Describes a file that is not where it belongs, among devices between which the records lane is open; nil if all
  /// are.
  func misplacedFile(among devices: [Device]) throws -> String? {
    try judge.misplacedFile(devices.filter(\.isHonest).map { ($0.name, folder(of: $0)) })
  }

  /// Checks the bytes of all files.
  func checkFiles(_ device: Device) throws {
    guard device.isHonest, device.world.options.files > 0, device.process?.isEnded == false else { return }
    try judge.checkFiles(device.name, folder(of: device))
  }

  // MARK: Sessions

  func sent(_ message: [UInt8], from sender: Device, to receiver: Device, on link: Link) throws {
    guard sender.isHonest else { return }
    if !receiver.isHonest { judge.introduced(receiver.name, device: receiver.key.bytes) }
    judge.steady = sender.world.now
    judge.hasRoom(sender.name, sender.process?.appliesStatements == true)
    try quietly(sender) {
      try judge.sent(sender.name, to: receiver.name, link: link.id.rawValue, message, wall: sender.wall)
    }
  }

  /// Reports that a process is about to handle a message.
  func arrived(_ message: [UInt8], from sender: Device, to receiver: Device, on link: Link) {
    guard receiver.isHonest else { return }
    if !sender.isHonest { judge.introduced(sender.name, device: sender.key.bytes) }
    judge.steady = sender.world.now
    judge.arrived(sender.name, to: receiver.name, link: link.id.rawValue, message, wall: receiver.wall)
  }

  func claimedInSync(_ device: Device, with peers: [Device]) throws {
    guard device.isHonest else { return }
    judge.hasRoom(device.name, device.process?.appliesStatements == true)
    let isOpen = peers.first.map { device.process?.openRecords.contains($0.key) == true } ?? false
    // If two copies of the peer are connected, it is unknown which of them the claim is about.
    let sessions = device.process?.replicator.replica.sessions.values.filter {
      $0.device == peers.first?.key && !$0.isClosing
    }
    let session = isOpen && sessions?.count == 1 ? sessions?.first : nil
    try quietly(device) {
      try judge.claimedInSync(
        device.name, withOneOf: peers.filter(\.isHonest).map(\.name),
        openLink: session?.link.rawValue)
    }
  }

  /// Reports that all faults are over and these devices must have converged.
  func healed(_ members: [Device], premium: [Device], withholding: [Device]) throws {
    for device in members { judge.isNow(device.name, wall: device.wall) }
    try judge.healed(members.map(\.name), premium: premium.map(\.name), withholding: withholding.map(\.name))
  }

  /// Throws an error if `verify --deep` finds a difference in a device's store.
  func verified(_ device: Device) throws {
    guard device.isHonest, let process = device.process, !process.isEnded else { return }
    try quietly(device) {
      let report = try DeepVerification.run(on: process.volume, path: Device.storeFile)
      guard let first = report.findings.first else { return }
      let count = report.counts.values.reduce(0, +)
      throw Failure(
        .store,
        "verify --deep found \(count) differences in \(device.name)'s store; first: \(first.location), \(first.text)"
      )
    }
  }

  /// Reports that a device has closed a session because its peer broke the protocol.
  func penalised(_ peer: Device, by device: Device, _ why: String) throws {
    try judge.closedAsMisbehaved(device.name, peer: peer.name, cause: why)
  }
}
