import Foundation

/// The desktop of this machine, if there is one.
enum Desktop {
  /// Opens a file or an address in the program that the user has chosen for it, usually the browser.
  ///
  /// - Returns: false if there is no desktop, or no program to open things with.
  static func open(_ target: String, _ environment: [String: String]) -> Bool {
    #if os(macOS)
      return Helper.launch(["open", target])
    #else
      let displays = ["DISPLAY", "WAYLAND_DISPLAY"].compactMap { environment[$0] }
      return displays.contains { !$0.isEmpty } && Helper.launch(["xdg-open", target])
    #endif
  }
}
