import JSONDocument
import Membership
import Records
import Replication
import Storage
import Wire

/// `verify [PEER]`: whether peers that folded the same change sets hold the same data.
extension Node {
  func verify(_ request: CommandRequest) async throws -> JSON {
    guard network != nil else { throw WaymarkError.notServing }
    let peers = try peersToVerify(request)
    try await waitForIntroductions()
    var documents: [JSON] = []
    for peer in peers { documents.append(try await verify(peer)) }
    try checkOpen()
    let verdicts = documents.compactMap { $0["verdict"]?.string }
    let worst = ["differs", "unknown", "not_in_sync"].first { verdicts.contains($0) } ?? "equal"
    return document(request.command, [.init("verdict", .string(worst)), .init("peers", .array(documents))])
  }

  /// The peer that is named, or all that are connected.
  private func peersToVerify(_ request: CommandRequest) throws -> [Member] {
    if let name = request.text("peer") {
      let peer = try peer(named: name)
      guard replica.session(with: peer.device) == nil else { return [peer] }
      let reason = notReachable(peer.device)
      throw WaymarkError(
        exitCode: ExitCode.notInSync, code: reason.code, message: reason.message, next: reason.next)
    }
    let connected = circle.evaluation.members.values.filter { replica.session(with: $0.device) != nil }
      .sorted { ($0.name, $0.device) < ($1.name, $1.device) }
    guard !connected.isEmpty else {
      throw WaymarkError(
        exitCode: ExitCode.notInSync, code: Reason.offline,
        message: "No peer is connected to compare with.", next: .waymark("peers"))
    }
    return connected
  }

  private func verify(_ peer: Member) async throws -> JSON {
    var lanes: [(lane: Lane, verdict: LaneVerdict)] = []
    for lane in Lane.allCases {
      if let failure = closedHere(lane) {
        lanes.append((lane, .unknown(failure)))
      } else if let last = lanes.last, case .unknown(let failure) = last.verdict, failure.code == .noAnswer {
        lanes.append((lane, last.verdict))
      } else {
        lanes.append((lane, await LaneComparison(lane: lane, peer: peer.device).run(on: self)))
        try checkOpen()
      }
    }
    let session = replica.session(with: peer.device)
    let areCertificatesEqual = session?.theirs?.certificates == circle.setHash
    let isComparable = lanes.contains { if case .unknown = $0.verdict { false } else { true } }
    let verdict = self.verdict(lanes.map(\.verdict), areCertificatesEqual, isComparable)
    return [
      "device": .string(peer.device.description), "name": .string(peer.name), "verdict": .string(verdict),
      "certificatesEqual": .bool(areCertificatesEqual),
      "lanes": .object(try lanes.map { .init("\($0.lane)", try json($0.verdict)) }),
      "next": .text(next(verdict, lanes.map(\.verdict), peer)),
    ]
  }

  /// A lane that this device keeps closed is not compared.
  private func closedHere(_ lane: Lane) -> WaymarkError? {
    guard lane == .records, let gate = replica.ownGate(now: wall()).reason else { return nil }
    let reason = Reason(gate)
    return .failed(
      reason, exclusion?.text ?? reason.sentence(),
      next: exclusion?.next ?? reason.next() ?? .waymark("sync"))
  }

  /// Closed lanes don't count, as long as there is another to go by; a silent peer is not known to be equal.
  private func verdict(_ lanes: [LaneVerdict], _ areCertificatesEqual: Bool, _ isComparable: Bool) -> String {
    var isInSync = areCertificatesEqual
    for lane in lanes {
      switch lane {
      case .differs: return "differs"
      case .notInSync: isInSync = false
      case .unknown(let failure) where failure.code == .noAnswer || failure.code == .store:
        return "unknown"
      case .equal, .unknown: break
      }
    }
    return !isComparable ? "unknown" : isInSync ? "equal" : "not_in_sync"
  }

  /// A digest that is not the sum of its records tells where the damage is.
  private func next(_ verdict: String, _ lanes: [LaneVerdict], _ peer: Member) -> String? {
    let name = shellWord(peer.name)
    let found = lanes.compactMap { if case .differs(let found) = $0 { found } else { nil } }
    switch verdict {
    case "differs" where found.contains { !$0.wrongHere.isEmpty }: return "waymark verify --deep --repair"
    case "differs" where found.contains { !$0.wrongThere.isEmpty }:
      return "waymark verify --deep --repair, on \(peer.name)"
    case "differs":
      return "waymark verify --deep --repair, here and on \(peer.name): it mends the one that is damaged"
    case "not_in_sync": return "waymark wait --peer \(name)"
    case "unknown": return "waymark peers"
    default: return nil
    }
  }

  private func json(_ verdict: LaneVerdict) throws -> JSON {
    switch verdict {
    case .equal: return ["verdict": "equal"]
    case .notInSync(let behind, let ahead):
      return ["verdict": "not_in_sync", "behind": .integer(behind), "ahead": .integer(ahead)]
    case .unknown(let failure):
      return [
        "verdict": "not_compared", "reason": .string(failure.code.rawValue), "text": .string(failure.message),
        "next": .text(failure.next?.description),
      ]
    case .differs(let found):
      func ranges(_ bytes: [UInt8]) -> JSON { .array(bytes.map { .string(hexadecimal([$0])) }) }
      let named = found.records.prefix(LaneComparison.differencesMax)
      return [
        "verdict": "differs", "records": .array(try named.map { try recordJSON($0) }),
        "more": .bool(found.isCut || named.count < found.records.count),
        "digestWrongHere": ranges(found.wrongHere), "digestWrongThere": ranges(found.wrongThere),
      ]
    }
  }
}
