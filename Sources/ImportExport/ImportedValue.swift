import Exchange
import Records
import Storage
import Wire

extension Field {
  /// Returns the value that the field has after a file's value was imported over the stored value.
  ///
  /// The formats cannot represent every value: their times are in whole seconds, their amounts have no currency, zones
  /// must be named, and a placeholder represents a missing value. If a file's value equals the stored value as far as
  /// the format can represent it, the stored value is not changed.
  ///
  /// - Parameter filler: the placeholder that means that this field has no value; nil if there is none.
  func imported(_ value: Value, over held: Value?, filler: Value?) -> Value {
    let held = held ?? .null
    if isNothing(value, filler) && isNothing(held, filler) { return held }
    return switch type {
    case .money: money(value, over: held)
    case .instant: Self.instant(value, over: held)
    case .datedInstant: Self.datedInstant(value, over: held)
    case .timestamp: Self.isSameSecond(value, held) ? held : value
    default: value
    }
  }

  /// Returns whether a value means that the field has no value. Empty bytes don't mean that: they are an empty file,
  /// which is not the same as no file.
  private func isNothing(_ value: Value, _ filler: Value?) -> Bool {
    value == .null || (value.isEmpty && type != .blob) || filler.map { isSame(value, $0) } ?? false
  }

  private func money(_ value: Value, over held: Value) -> Value {
    guard let amount = value.part(0).asText.flatMap({ ExactDecimal($0) }), value.part(1) == .null else {
      return value
    }
    guard let heldAmount = held.part(0).asText.flatMap({ ExactDecimal($0) }) else {
      // A format without optional prices writes a missing price as 0.
      return held == .null && amount.isEqual(to: .zero) ? held : value
    }
    return amount.isEqual(to: heldAmount) ? held : .array([value.part(0), held.part(1)])
  }

  private static func instant(_ value: Value, over held: Value) -> Value {
    guard value != .null, held != .null else { return value }
    let time = isSameSecond(value.part(0), held.part(0)) ? held.part(0) : value.part(0)
    return .array([time, value.part(1) == .null ? held.part(1) : value.part(1)])
  }

  /// The day depends on the time and the zone, so the day, time and zone change together.
  private static func datedInstant(_ value: Value, over held: Value) -> Value {
    let zone = value.part(1)
    let isPlaceholder = zone == .text(Placeholders.logZone) && held.part(1) == .null
    let isSameZone = zone == .null || zone == held.part(1) || isPlaceholder
    return isSameZone && isSameSecond(value.part(0), held.part(0)) ? held : value
  }

  /// Returns whether a time in a file equals the stored time, at the files' resolution of one second.
  private static func isSameSecond(_ file: Value, _ held: Value) -> Bool {
    guard let file = file.asInteger, let held = held.asInteger else { return false }
    return file == wholeSecond(held)
  }
}
