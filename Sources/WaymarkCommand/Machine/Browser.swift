import Console
import Platform
import Home
import Waymark

/// Opens pages in the user's browser, where there is a desktop.
enum Browser {
  /// Opens a file. Returns false if there is no desktop, or no program that opens files.
  static func open(file: String, _ environment: [String: String]) -> Bool {
    program(environment).map { Helper.begin([$0, file]) } ?? false
  }

  /// Opens a link that holds a code. Returns false if there is no desktop, no program that opens links, or no room for the
  /// file.
  ///
  /// Other users of this machine can read the command line of every process, so the browser gets the link from a file
  /// that only this user can read. The code in it works once.
  static func open(link: String, home: Home, _ environment: [String: String]) -> Bool {
    guard program(environment) != nil else { return false }
    let file = home.path + "/open-page.html"
    let page = """
      <!doctype html>
      <meta charset="utf-8">
      <meta name="referrer" content="no-referrer">
      <title>Waymark</title>
      <script>location.replace("\(link)")</script>

      """
    do { try Files.replace(file, with: Array(page.utf8)) } catch { return false }
    return open(file: file, environment)
  }

  private static func program(_ environment: [String: String]) -> String? {
    switch OperatingSystem.current {
    case .apple: return "open"
    case .linux:
      let hasDesktop = ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
      return hasDesktop ? "xdg-open" : nil
    }
  }
}
