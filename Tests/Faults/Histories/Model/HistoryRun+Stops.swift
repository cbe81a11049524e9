import Foundation
import VirtualDisk
import Waymark
import WaymarkKinds
import WaymarkTesting
import Wire

// A machine stops in the middle of what its person does, or of what it exchanges with others. Then it starts again.
//
//     command    begins ──── writes ── syncs ──── replies
//                        ▲         ▲           ▲          ▲
//     the stop   before any piece of work or any change to a file, or when the reply has arrived
//
// How many changes a command makes shows only when it has run. So while the machine is not connected to others, an image is
// taken before each change with such a chance that one is left in the end, and each moment has the same chance to be that one.
// In a third of the cases, the stop waits for the reply instead.
//
// When the command has replied, all of it is there after the start, whatever happened to the disk. Otherwise, all of it is
// there or nothing, and no other device has more than the device itself.
//
// Instead of stopping, the machine may also run out of disk space while the command runs, and have room again afterwards.
// Then the command is refused and leaves nothing, or it has replied and everything is there.
//
// Or from some moment on, nothing becomes durable, and then the machine loses power. A refused command may be there then or
// not. So that the model knows what the command would have written, it runs twice: once without a fault, and again from the
// same files.

/// A stop that is planned, or has happened.
private final class MachineStop {
  enum Kind: CaseIterable {
    /// The process is killed before a piece of its work.
    case killBeforeWork
    /// The process is killed before it changes a file.
    case killBeforeChange
    /// The machine loses power before a file is changed. What was not synced is lost in part.
    case powerLoss
    /// From a write on, none has room any more, until the command ends.
    case fullDisk
    /// From a sync on, all fail, and when the command has ended, the machine loses power.
    case failedSync
  }

  let kind: Kind
  private let home: Home
  private let unplug: () -> Void
  private let disk: Disk
  private let survival: Survival
  private var random: SplitMix
  /// The number of changes until it happens; nil if any moment of the command has the same chance.
  private var left: Int?
  private var changes: UInt64 = 0
  private(set) var image: HomeImage?
  /// Whether a write or a sync has failed.
  private(set) var hasFailed = false

  /// - Parameter after: the number of changes to files or, for `killBeforeWork`, of pieces of work that come before; nil
  ///   for any number.
  init(
    _ kind: Kind, after: Int?, survival: Int, _ home: Home, _ scheduler: SimulatedScheduler,
    unplug: @escaping () -> Void
  )
    throws
  {
    self.kind = FileCallObserver.isAvailable ? kind : .killBeforeWork
    (self.home, self.unplug, left) = (home, unplug, after)
    self.survival =
      kind == .powerLoss || kind == .failedSync
      ? Survival.variants[survival % Survival.variants.count] : Survival(.everything)
    random = SplitMix(seed: UInt64(survival))
    disk = try HomeImage(of: home).disk()
    switch self.kind {
    case .killBeforeWork: scheduler.interrupt(after: after ?? Int(random.below(12))) { self.happen() }
    case .killBeforeChange, .powerLoss:
      FileCallObserver.current = {
        self.observe($0, scheduler)
        return nil
      }
    case .fullDisk:
      left = after ?? Int(random.below(40))
      FileCallObserver.current = { self.hasRoom(for: $0) ? nil : ENOSPC }
    case .failedSync:
      left = after ?? Int(random.below(4))
      FileCallObserver.current = { self.becomesDurable($0) ? nil : EIO }
    }
  }

  private func becomesDurable(_ call: FileCall) -> Bool {
    guard let change = DiskChange(call, in: home.path) else { return true }
    if change.isSync {
      if let left, left > 0 { self.left = left - 1 } else { hasFailed = true }
      if hasFailed { return false }
    }
    try? change.apply(to: disk)
    return true
  }

  private func hasRoom(for call: FileCall) -> Bool {
    guard let path = call.growing, path.hasPrefix(home.path + "/") else { return true }
    if let left, left > 0 { self.left = left - 1 } else { hasFailed = true }
    return !hasFailed
  }

  private func observe(_ call: FileCall, _ scheduler: SimulatedScheduler) {
    guard left == nil || image == nil, let change = DiskChange(call, in: home.path) else { return }
    scheduler.note(change.number)
    changes += 1
    if let left {
      self.left = left - 1
      if left == 0 { return happen() }
    } else if random.below(changes) == 0 {
      image = HomeImage(disk, survival, &random)
    }
    try? change.apply(to: disk)
  }

  /// Takes an image and cuts the machine off. Does nothing if that has happened.
  func happen() {
    guard image == nil else { return }
    // A process that is killed before a piece of work has left what programs see now.
    image = kind == .killBeforeWork ? HomeImage(of: home) : HomeImage(disk, survival, &random)
    unplug()
  }

  /// Lets it happen if it has not yet, because the command has replied. Returns whether it did.
  func happensAfterReply() -> Bool {
    guard kind != .fullDisk else { return true }
    if left == nil, random.below(3) == 0 { image = nil }
    guard image == nil else { return false }
    happen()
    return true
  }

  func forget(_ scheduler: SimulatedScheduler) {
    FileCallObserver.current = nil
    scheduler.forgetInterruption()
  }

  var description: String {
    switch kind {
    case .killBeforeWork, .killBeforeChange: "is killed"
    case .powerLoss: "loses power (\(survival))"
    case .fullDisk: "runs out of disk space"
    case .failedSync: "can't sync its disk and loses power (\(survival))"
    }
  }
}

/// A call that changes files of a home, with names instead of paths.
private struct DiskChange {
  private let call: FileCall
  private let name: String
  private let target: String

  init?(_ call: FileCall, in folder: String) {
    func name(_ path: String) -> String? {
      guard path == folder || path.hasPrefix(folder + "/") else { return nil }
      return String(path.dropFirst(folder.count + 1))
    }
    switch call {
    case .create(let path, _), .write(let path, _, _), .truncate(let path, _), .sync(let path),
      .remove(let path):
      guard let known = name(path), HomeImage.has(known) else { return nil }
      (self.name, target) = (known, "")
    case .rename(let path, let other), .link(let path, let other):
      guard let known = name(path), let new = name(other) else { return nil }
      (self.name, target) = (known, new)
    }
    self.call = call
  }

  /// A number that differs between calls, for the trace. Names of temporary files are drawn by the machine.
  var number: UInt64 {
    switch call {
    case .create: 1
    case .write(_, let offset, let bytes): 2 + UInt64(offset) << 8 + UInt64(bytes.count) << 32
    case .truncate(_, let size): 3 + UInt64(size) << 8
    case .sync: 4
    case .rename: 5
    case .link: 6
    case .remove: 7
    }
  }

  /// Whether it makes durable what came before.
  var isSync: Bool { if case .sync = call { true } else { false } }

  func apply(to disk: Disk) throws {
    switch call {
    case .create(_, let empties): if empties || disk.size(of: name) == nil { try disk.create(name) }
    case .write(_, let offset, let bytes): try disk.write(Array(bytes)[...], to: name, at: offset)
    case .truncate(_, let size): try disk.truncate(name, to: size)
    case .sync:
      if disk.size(of: name) != nil { return try disk.sync(name) }
      try disk.syncDirectory(of: name.isEmpty ? "file" : name + "/file")
    case .rename: try disk.rename(name, to: target)
    case .link: try disk.link(name, as: target)
    case .remove: try disk.delete(name)
    }
  }
}

extension HistoryRun {
  /// The commands in which a machine stops: each writes one operation at most.
  private static let interruptible: [HistoryStep.Action] = [
    .create, .edit, .edit, .move, .copy, .delete, .restore, .erase, .undo, .undo, .resolve, .setting,
    .profile,
    .attach, .attach, .attach, .eraseData, .import,
  ]

  /// - Parameters:
  ///   - kinds: what may happen.
  ///   - workMax: the number of pieces of work before one of which it happens.
  ///   - changesMax: the number of changes before one of which it happens; nil if it may be any, because no other device
  ///     notices.
  private func stop(
    _ device: Int, _ choices: [Int], _ kinds: [MachineStop.Kind], workMax: Int, changesMax: Int?
  ) throws -> MachineStop? {
    guard let scheduler = circle.clock.scheduler else { return nil }
    let (circle, name) = (circle, Self.names[device])
    let kind = kinds[choices[0] % kinds.count]
    let after = (kind == .killBeforeWork ? workMax : changesMax).map { choices[1] % $0 }
    return try MachineStop(kind, after: after, survival: choices[2], node(device).home, scheduler) {
      circle.unplug(name)
    }
  }

  /// A machine stops while a command runs, or just after its reply.
  mutating func stopInCommand(_ device: Int, _ choices: [Int]) async throws -> String? {
    var random = HistoryRandom(UInt64(choices[3]))
    let action = Self.interruptible[random.below(Self.interruptible.count)]
    let inner = HistoryStep(
      action: action, device: device, choices: (0..<HistoryStep.choiceCount).map { _ in random.below(1_000) })
    let isAlone = !connected.contains(device)
    // Instead of half of the full disks. A device that has told others what it wrote can't write it again.
    if isAlone, choices[0] % 8 == 7, FileCallObserver.isAvailable {
      return try await failSyncs(device, inner, choices)
    }
    let kinds: [MachineStop.Kind] = [.killBeforeWork, .killBeforeChange, .powerLoss, .fullDisk]
    guard let scheduler = circle.clock.scheduler,
      let stop = try stop(device, choices, kinds, workMax: 12, changesMax: isAlone ? nil : 40)
    else { return nil }
    let before = self
    var deed = action.rawValue
    var isRefused = false
    do { deed = try await act(device, inner) ?? "nothing" } catch {
      stop.forget(scheduler)
      isRefused = stop.hasFailed && (error as? WaymarkError)?.code == .diskFull
      if !isRefused {
        circle.plugIn(Self.names[device])
        throw error
      }
    }
    stop.forget(scheduler)
    let hasReplied = !isRefused && stop.happensAfterReply()
    if stop.kind == .fullDisk {
      // The device looks for room again.
      try await circle.clock.advance(by: .seconds(10))
    } else {
      try await startAgain(device, stop)
    }
    let what = stop.description
    let isThere = try await isNewest(device, since: before)
    guard isThere == false || isThere == nil && !hasReplied else {
      try await check(device)
      return "\(hasReplied ? "finishes" : "keeps") “\(deed)” when it \(what)"
    }
    guard !hasReplied else { throw Difference("“\(deed)” had replied and is lost after the device \(what)") }
    if !isRefused, isThere == nil, (try? await check(device)) != nil {
      return "keeps “\(deed)” when it \(what)"
    }
    let drawn = self.random
    self = before
    (self.random, copies[device]) = (drawn, nil)
    do { try await check(device) } catch let difference as Difference {
      throw Difference("“\(deed)” is there in part after the device \(what): \(difference)")
    }
    return "\(isRefused ? "refuses" : "loses") “\(deed)” when it \(what)"
  }

  /// From a moment of a command on, nothing becomes durable; then the machine loses power.
  private mutating func failSyncs(_ device: Int, _ command: HistoryStep, _ choices: [Int]) async throws
    -> String?
  {
    guard let scheduler = circle.clock.scheduler else { return nil }
    let (before, files) = (self, HomeImage(of: node(device).home))
    let newest = try await newestOperation(device)
    let deed = try await act(device, command) ?? "nothing"
    var after = self
    self = before
    try await startAgain(device, from: files)

    guard let stop = try stop(device, choices, [.failedSync], workMax: 1, changesMax: nil) else { return nil }
    copies[device] = before.copies[device]
    var isRefused = false
    do { _ = try await act(device, command) } catch {
      // A file next to the store may be the one that can't be synced.
      isRefused = stop.hasFailed && [.storeBroken, .file].contains((error as? WaymarkError)?.code)
      if !isRefused {
        stop.forget(scheduler)
        throw error
      }
    }
    stop.happen()
    stop.forget(scheduler)
    let hasReplied = !isRefused
    if hasReplied { after = self }
    try await startAgain(device, stop)
    (after.random, after.copies[device]) = (random, nil)

    let what = stop.description
    let operation = try await newestOperation(device)
    let isNamed = after.operations.count > before.operations.count && after.operations.last != .some(nil)
    self = after
    if isRefused { try await nameAgain(device, isNamed ? operation : nil) }
    if hasReplied || !isNamed || operation != newest {
      do {
        try await check(device)
        return "\(hasReplied ? "finishes" : "keeps") “\(deed)” when it \(what)"
      } catch let difference as Difference {
        guard !hasReplied else {
          throw Difference("“\(deed)” had replied and is lost after the device \(what): \(difference)")
        }
        guard !isNamed else { throw difference }
      }
    }
    self = before
    (random, copies[device]) = (after.random, nil)
    do { try await check(device) } catch let difference as Difference {
      throw Difference("“\(deed)” is there in part after the device \(what): \(difference)")
    }
    return "refuses “\(deed)” when it \(what)"
  }

  /// Sets the names of what a command wrote the second time: an operation, and perhaps an attachment, which the library
  /// names.
  private mutating func nameAgain(_ device: Int, _ operation: OperationID?) async throws {
    if let operation { operations[operations.count - 1] = operation }
    let attachments = try await node(device).records(Attachment.all).map(\.id.uuid)
    guard let new = attachments.first(where: { !ids.contains($0) }) else { return }
    ids[ids.count - 1] = new
  }

  /// Whether the newest operation on a device is the one that was written since a former state. What a person sees does not
  /// always tell. Nil if none was written, or one that the library does not name.
  private func isNewest(_ device: Int, since before: HistoryRun) async throws -> Bool? {
    guard operations.count > before.operations.count, let id = operations.last ?? nil else { return nil }
    return try await newestOperation(device) == id
  }

  private mutating func startAgain(_ device: Int, _ stop: MachineStop) async throws {
    do { try await startAgain(device, from: stop.image) } catch {
      throw Difference("\(Self.names[device]) \(stop.description) and can't start again: \(error)")
    }
  }

  /// Ends the node of a device, and opens it again with what an image has left of its files.
  private mutating func startAgain(_ device: Int, from image: HomeImage?) async throws {
    let name = Self.names[device]
    await circle.close(name)
    try await circle.clock.quiet()
    try image?.write(to: node(device).home)
    circle.plugIn(name)
    copies[device] = nil
    try await circle.reopen(name)
  }

  /// A machine stops while it exchanges with others.
  mutating func stopInExchange(_ device: Int, _ choices: [Int]) async throws -> String? {
    guard let scheduler = circle.clock.scheduler else { return nil }
    let peers = devices.indices.filter { $0 != device }
    guard let peer = pick(peers, choices[3]) else { return nil }
    connected = []
    await partition([])
    let kinds: [MachineStop.Kind] = [.killBeforeWork, .killBeforeChange, .powerLoss]
    guard let stop = try stop(device, choices, kinds, workMax: 400, changesMax: 150) else { return nil }
    await partition([device, peer])
    do { try await circle.settle() } catch {
      stop.forget(scheduler)
      throw error
    }
    stop.forget(scheduler)
    if stop.image != nil { try await startAgain(device, stop) }
    try await exchange([device, peer])
    return stop.image == nil
      ? "meets \(Self.names[peer])"
      : "interrupts its meeting with \(Self.names[peer]) when it \(stop.description)"
  }

  /// All connections break in the middle of an exchange.
  func breakConnectionsSoon() {
    guard let scheduler = circle.clock.scheduler, scheduler.chance(3) else { return }
    let circle = circle
    scheduler.interrupt(after: scheduler.number(below: 300)) { circle.breakConnections() }
  }
}
