import Engine
import Enrolment
import FileFormat
import Home
import LogStorage
import Membership
import Reasons
import Replication
import Storage
import Wire

extension NodeStatus.Notice {
  /// Returns the notice about damaged change sets; nil if none are known.
  static func damaged(
    _ sets: [DamagedSet], hasPeers: Bool, advice: @autoclosure () -> Step, _ names: DeviceNames
  ) -> NodeStatus.Notice? {
    guard !sets.isEmpty else { return nil }
    let them = sets.count == 1 ? "it" : "them"
    return NodeStatus.Notice(
      .damagedSet,
      text: "\(plural(sets.count, "stored change set")) \(sets.count == 1 ? "is" : "are") damaged on disk "
        + "(\(names.list(sets)))" + (hasPeers ? "; requesting \(them) from peers that have a copy" : ""),
      next: hasPeers
        ? "\(waymark: "run"), until a device with intact copies connects; if none does, \(advice())"
        : advice(),
      .damaged(
        sets.prefix(damagedListedMax).map { set in
          ChangeSetReference(
            device: set.log.device, name: names.name(of: set.log.device), lane: "\(set.log.lane)",
            sequence: set.sequence, id: set.id.description)
        }, count: sets.count))
  }

  private static let damagedListedMax = 100

  /// Returns the notices about forks whose author has not written in another incarnation since. Until it does, the
  /// author may not know of the fork.
  static func forks(_ circle: Circle, _ store: Store, _ names: DeviceNames) -> [NodeStatus.Notice] {
    let devices = Set(circle.evaluation.forkProofs.map(\.log).filter { !store.hasLeft($0) }.map(\.device))
    return devices.sorted().map { device in
      NodeStatus.Notice(
        .fork,
        text:
          "\(names.name(of: device)) ran from two copies of its data directory at once; all changes are kept",
        next: "use only one of the copies; to use another device, let it join with a ticket of its own")
    }
  }

  /// Returns a notice for each device whose logs branch proofs end.
  ///
  /// - Parameters:
  ///   - device: this device.
  ///   - isPending: whether the store does not apply all proofs yet.
  static func branches(
    _ circle: Circle, at device: DeviceKey, isPending: Bool, _ names: DeviceNames
  ) -> [NodeStatus.Notice] {
    let evaluation = circle.evaluation
    let proofs = evaluation.branchProofs.values.filter { evaluation.isMember($0.tree.device) }
    return Dictionary(grouping: proofs, by: \.tree.device).sorted { $0.key < $1.key }.map { author, proofs in
      let lanes = Set(proofs.map(\.tree.lane)).sorted { $0.rawValue < $1.rawValue }.map { "\($0)" }
      let lines = proofs.sorted { $0.tree < $1.tree }.map {
        "\($0.tree.lane) of log \($0.tree.number) after change set \($0.line)"
      }
      let name = names.name(of: author)
      return NodeStatus.Notice(
        .tooManyBranches,
        text: "\(name) wrote more than \(Limits.branchesMax) contradictory versions of its "
          + "\(lanes.joined(separator: " and ")); not kept: \(lines.joined(separator: ", "))"
          + (isPending ? "; the data shown does not reflect this yet" : ""),
        next: author == device
          ? "use only one copy of this device's data directory; other devices may have to revoke this device"
          : "\(waymark: "revoke \(shellWord(name))") if the device was stolen or copied; its changes shown here are kept",
        .device(author))
    }
  }

  /// - Parameter isWithholding: whether sets that were written since the start are withheld until the store can record
  ///   that they may be sent.
  static func diskFull(_ home: Home, isWithholding: Bool) -> NodeStatus.Notice {
    let next: Step = "free up space on the disk: df -h \(shellWord(home.path))"
    return isWithholding
      ? NodeStatus.Notice(
        .diskFull,
        text: "the disk is full; nothing more is stored, and changes made since startup can't be sent yet",
        next: next)
      : NodeStatus.Notice(.diskFull, next: next)
  }

  static let incarnationsSpent = NodeStatus.Notice(
    .incarnationsSpent,
    text:
      "this device has written under \(Limits.incarnationsMax) incarnations, the limit: it still receives changes, but "
      + "can't write any until it joins the circle again; its data is kept",
    next: "\(waymark: "invite", on: "another device"); then here \(waymark: "join TICKET")")
}

extension NodeStatus.Notice {
  /// Returns a notice for each member and lane of which nine tenths of the quota are used, or sets beyond the quota were
  /// dropped here.
  static func large(_ inspection: NodeInspection) -> [NodeStatus.Notice] {
    let full = inspection.replica.full
    return largeFiles(inspection)
      + inspection.store.quotaUsages().compactMap { usage in
        guard inspection.circle.evaluation.isMember(usage.device) else { return nil }
        let isExceeded = full.authors(usage.lane).contains(usage.device)
        guard isExceeded || usage.isNearlyUsed else { return nil }
        return large(
          Large(
            device: usage.device, deviceName: inspection.connections.names.name(of: usage.device),
            lane: "\(usage.lane)", bytes: usage.bytes, quota: usage.quota, isExceeded: isExceeded),
          percent: usage.percent, isOwn: usage.device == inspection.device)
      }
  }

  /// Returns a notice for each member of which some files are not fetched, because they exceed the quota.
  private static func largeFiles(_ inspection: NodeInspection) -> [NodeStatus.Notice] {
    let devices = inspection.replicator.devicesOverFileQuota
    guard !devices.isEmpty, let named = try? inspection.store.filesByAuthor() else { return [] }
    let evaluation = inspection.circle.evaluation
    return devices.filter(evaluation.isMember).map { device in
      let name = inspection.connections.names.name(of: device)
      let usage = Large(
        device: device, deviceName: name, lane: "files",
        bytes: (named[device] ?? []).reduce(0) { $0 + UInt64($1.size) },
        quota: evaluation.filesQuota(of: device, at: inspection.device) ?? 0, isExceeded: true)
      let word = shellWord(name)
      let size = suggestedSize(evaluation.quota(of: device, .records))
      return NodeStatus.Notice(
        .memberIsLarge,
        text: "\(name) has attached \(sizeText(usage.bytes)) of files, more than its quota of "
          + "\(sizeText(usage.quota)); what is beyond it is fetched only when it is asked for",
        next:
          "if that is intended: \(waymark: "grant \(word) \(size)"), which allows 16 times "
          + "as many bytes of files; if not: \(waymark: "revoke \(word) --discard")", .large(usage))
    }
  }

  private static func large(_ usage: Large, percent: Int, isOwn: Bool) -> NodeStatus.Notice {
    let name = shellWord(usage.deviceName)
    let option = usage.lane == "\(Lane.settings)" ? " --settings" : ""
    let grant = "grant \(name) \(suggestedSize(usage.quota))\(option)"
    let quota: LocalizableText = "its quota of \(sizeText(usage.quota)) of \(usage.lane)"
    let who: LocalizableText = isOwn ? "this device" : "\(usage.deviceName)"
    let text: LocalizableText =
      usage.isExceeded
      ? "\(usage.deviceName) has written more than \(quota) allows; what is beyond it is not stored here"
      : "\(who) has written \(sizeText(usage.bytes)), "
        + "\(percent) % of what \(quota) allows now"
    let next: Step =
      isOwn
      ? Step.waymark(grant, on: "an admin device")
      : "if that is intended: \(waymark: grant); if not: \(waymark: "revoke \(name) --discard")"
    return NodeStatus.Notice(.memberIsLarge, text: text, next: next, .large(usage))
  }

  /// Returns twice a quota, as it is typed.
  static func suggestedSize(_ quota: UInt64) -> String {
    let twice = min(quota &* 2, Limits.quotaBytesMax)
    let size = sizeText(twice)
    return twice >= 1_024 && !size.contains(".") ? size.filter { $0 != " " } : "\(twice)"
  }
}

extension NodeNotice {
  func notice(_ names: DeviceNames) -> NodeStatus.Notice {
    switch self {
    case .storeFailed(let why):
      NodeStatus.Notice(.storeFailed, text: "a transaction failed: \(why)")
    case .digestMismatch(let device, let lane):
      NodeStatus.Notice(
        .digestMismatch,
        text:
          "\(LocalizableText(word: "\(lane)")): the same changes led to different data on \(names.name(of: device))",
        next: Reason.digestMismatch.next(peer: names.name(of: device)),
        .device(device))
    }
  }
}
