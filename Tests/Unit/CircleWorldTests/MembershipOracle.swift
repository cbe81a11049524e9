// Protocol/circle.md, "Who is a member" and "What folds", written again from that page.

/// Who is a member, and which cuts apply, by the statements that were delivered.
struct MembershipOracle {
  private let script: Script
  private let delivered: Mask
  /// The revocations that count.
  private(set) var counted: Mask = 0
  private(set) var certified: Set<Actor> = []
  private(set) var admins: Set<Actor> = []
  /// The devices that a certificate names.
  private var named: Set<Actor> = []

  init(_ script: Script, _ delivered: Mask) {
    (self.script, self.delivered) = (script, delivered)
    for length in 1...9 {
      let depths = depths()
      var found: Mask = 0
      for position in delivered.positions {
        guard case .revocation(let issuer, _, _, _) = script.statements[position] else { continue }
        if depths[issuer] == length - 1, !isVoid(position) { found = found.with(position) }
      }
      counted |= found
    }
    let depths = depths()
    for (issuer, device, isAdmin) in certificates() where depths[issuer] ?? 8 <= 7 {
      certified.insert(device)
      if isAdmin { admins.insert(device) }
    }
    named = [.alice]
    for position in delivered.positions {
      if case .certificate(_, let device, _) = script.statements[position] { named.insert(device) }
    }
  }

  /// The certificates that are not void, the genesis included.
  private func certificates() -> [(issuer: Actor, device: Actor, isAdmin: Bool)] {
    var found: [(issuer: Actor, device: Actor, isAdmin: Bool)] = [(.root, .alice, true)]
    for position in delivered.positions {
      guard case .certificate(let issuer, let device, let isAdmin) = script.statements[position],
        !isVoid(position)
      else { continue }
      found.append((issuer, device, isAdmin))
    }
    return found
  }

  private func depths() -> [Actor: Int] {
    var depths: [Actor: Int] = [.root: 0]
    let links = certificates().filter(\.isAdmin)
    for depth in 1...8 {
      let next = links.filter { depths[$0.issuer] == depth - 1 && depths[$0.device] == nil }
      for link in next { depths[link.device] = depth }
    }
    return depths
  }

  func isVoid(_ position: Int) -> Bool {
    let signer = script.statements[position].signer
    return counted.positions.contains { revocation in
      guard case .revocation(_, let device, _, let valid) = script.statements[revocation] else {
        return false
      }
      return device == signer && !valid.contains(position)
    }
  }

  private func revocations(of device: Actor) -> [[Int]] {
    counted.positions.compactMap { position in
      guard case .revocation(_, device, let kept, _) = script.statements[position] else { return nil }
      return kept
    }
  }

  func isRevoked(_ device: Actor) -> Bool { !revocations(of: device).isEmpty }
  func isMember(_ device: Actor) -> Bool { certified.contains(device) && !isRevoked(device) }

  // MARK: Cuts

  /// How the statements end a log.
  enum LogEnd: Equatable {
    case unknownDevice
    /// The kept tips of each cut, and the greatest sequence that a branch proof leaves.
    case cuts([Mask], line: Int?)
  }

  func end(of log: WorldLog, _ ancestry: Ancestry) -> LogEnd {
    guard certified.contains(log.device) else {
      return named.contains(log.device) ? .cuts([0], line: nil) : .unknownDevice
    }
    var cuts = revocations(of: log.device).map { kept in Mask(kept.filter { ancestry.logs[$0] == log }) }
    let isRevoked = !cuts.isEmpty
    var line: Int?
    for position in delivered.positions {
      switch script.statements[position] {
      case .logCut(log.device, let tip) where log.incarnation == 1 && !isVoid(position):
        cuts.append(tip.map { Mask([$0]) } ?? 0)
      case .branchProof(log.device, let tip) where log.incarnation == 1 && !isRevoked:
        let sequence = tip.map { ancestry.sequences[$0] } ?? 0
        line = min(line ?? sequence, sequence)
      default: break
      }
    }
    return cuts.contains(0) ? .cuts([0], line: nil) : .cuts(cuts, line: line)
  }
}
