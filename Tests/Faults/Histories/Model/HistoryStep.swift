import Foundation
package import JSONDocument

/// One step of a history: something that a person does on one device, or that happens to the circle.
///
/// The choices say what it is done to. Each counts modulo the number of possibilities at that moment, so a history still
/// means something if steps are left out.
package struct HistoryStep: Hashable, Sendable {
  package enum Action: String, CaseIterable, Sendable {
    case create, edit, move, copy, delete, restore, erase, undo, resolve, setting, profile, attach, eraseData,
      export,
      `import`, override, backup, restoreBackup, connect, meet, sync, reopen, wait, readmit, renew, damage,
      stopInCommand, stopInExchange

    /// Whether the action needs a simulation. Elsewhere, it does nothing.
    var isSimulated: Bool { self == .stopInCommand || self == .stopInExchange }
  }

  package var action: Action
  package var device: Int
  package var choices: [Int]

  /// The actions as often as a history has them.
  private static func urn(isSimulated: Bool) -> [Action] {
    Action.allCases.filter { isSimulated || !$0.isSimulated }.flatMap(several)
  }

  private static func several(_ action: Action) -> [Action] {
    let weight =
      switch action {
      case .edit: 8
      case .create, .meet, .stopInCommand: 5
      case .copy, .delete, .undo: 3
      case .stopInExchange, .resolve, .restore, .move, .connect, .import, .attach: 2
      case .backup, .restoreBackup, .erase, .eraseData, .setting, .profile, .export, .override, .sync,
        .reopen, .wait, .readmit, .renew, .damage:
        1
      }
    return Array(repeating: action, count: weight)
  }

  static let choiceCount = 4

  /// Draws a history.
  ///
  /// - Parameter isSimulated: whether machines stop in it.
  package static func history(
    _ count: Int, devices: Int, seed: UInt64, isSimulated: Bool = false
  ) -> [HistoryStep] {
    let urn = urn(isSimulated: isSimulated)
    var random = HistoryRandom(seed)
    return (0..<count).map { _ in
      HistoryStep(
        action: urn[random.below(urn.count)], device: random.below(devices),
        choices: (0..<choiceCount).map { _ in random.below(1_000) })
    }
  }

  package var json: JSON {
    [.string(action.rawValue), .integer(Int64(device)), .array(choices.map { .integer(Int64($0)) })]
  }

  /// - Returns: nil if the JSON is no step.
  package init?(_ json: JSON) {
    guard let items = json.array, items.count == 3, let action = items[0].string.flatMap(Action.init),
      let device = items[1].integer.flatMap({ Int(exactly: $0) }), device >= 0,
      let choices = items[2].array?.compactMap({ $0.integer.flatMap { Int(exactly: $0) } }),
      choices.count == Self.choiceCount, choices.allSatisfy({ $0 >= 0 })
    else { return nil }
    self.init(action: action, device: device, choices: choices)
  }

  init(action: Action, device: Int, choices: [Int]) {
    (self.action, self.device, self.choices) = (action, device, choices)
  }
}

/// SplitMix64: the same numbers for the same seed on every machine.
struct HistoryRandom {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func below(_ bound: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((z ^ (z >> 31)) % UInt64(bound))
  }

  mutating func uuid() -> UUID {
    let bytes = (0..<16).map { _ in UInt8(below(256)) }
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
}
