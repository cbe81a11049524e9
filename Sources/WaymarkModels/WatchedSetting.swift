import ChangeHistory
public import Observation
public import Waymark

/// A setting for views: an observable object whose value can be read and assigned, such as by a binding.
///
/// ```swift
/// @Bindable var colors = WatchedSetting(.colorScheme, on: node)
/// Picker("Colors", selection: $colors.value) { … }
/// ```
///
/// An assigned value is shown at once and saved in the background, in the order of assignments; values that were
/// replaced before they were saved are skipped. If a value can't be saved, the saved one is shown again, and ``error``
/// says why.
@MainActor @Observable public final class WatchedSetting<Value: SettingValue> {
  /// The setting.
  public let setting: Setting<Value>
  /// The operation that set the saved value, with its device and time; nil if it is the default.
  public private(set) var setBy: OperationReference?
  /// Why the value that was assigned last could not be saved; nil if it was saved, or is being saved.
  public private(set) var error: WaymarkError?
  private var saved: Value
  /// The value that is being saved; nil if there is none.
  private var assigned: Value?
  private let node: Node
  @ObservationIgnored private var saving: Task<Void, Never>?
  @ObservationIgnored private var following: Task<Void, Never>?

  /// Follows a setting. Its value is there at once, from the copy of the settings on this device.
  public init(_ setting: Setting<Value>, on node: Node) {
    self.setting = setting
    self.node = node
    saved = node.home.value(of: setting)
    following = Task { [weak self] in
      for await state in node.watch(.settingState(setting)) { self?.received(state) }
    }
  }

  /// The value to show. Assigning saves it on this device, and on the others by sync.
  public var value: Value {
    get { assigned ?? saved }
    set {
      assigned = newValue
      error = nil
      if saving == nil { saving = Task { await save() } }
    }
  }

  private func received(_ state: SettingState<Value>) {
    if saved != state.value { saved = state.value }
    setBy = state.setBy
  }

  /// Saves what was assigned. The task holds the model, so that a value is saved even if its view has gone.
  private func save() async {
    while let value = assigned {
      do {
        try await node.set(setting, to: value)
        saved = value
      } catch let failure as WaymarkError {
        if assigned == value { error = failure }
      } catch {}
      if assigned == value { assigned = nil }
    }
    saving = nil
  }

  deinit { following?.cancel() }
}
