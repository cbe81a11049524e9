import LogStorage
public import Model
import Records
import Replication
import Storage

/// The value of a setting, and who set it.
///
/// ```swift
/// for await state in node.watch(.settingState(.colorScheme)) where state.setBy?.isOwn == false {
///   show("\(state.setBy!.deviceName) changed the colors")
/// }
/// ```
public struct SettingState<Value: SettingValue>: Hashable, Sendable {
  /// The value.
  public let value: Value
  /// The operation that set the value, with its device and time; nil if the value is the default, or comes from the copy
  /// of the settings on this device.
  public let setBy: OperationReference?

  package init(value: Value, setBy: OperationReference?) { (self.value, self.setBy) = (value, setBy) }
}

extension HistoryReader {
  /// Returns the operation that set a synced setting; nil if the setting has no value, or the change set is damaged.
  package func author(ofSetting key: String) throws -> OperationReference? {
    let record = StoredSettings.recordKey(key)
    guard try store.record(record)?.isAlive ?? false,
      let place = try store.state(of: record).cells[StoredSettings.valueField]?.author,
      place.origin.number != WriteOrigin.seed.number,
      let write = try store.intactWrite(of: record, in: place.origin.number)
    else { return nil }
    return author(write)
  }
}
