import Console
import Control
import Foundation
import JSONDocument
import Platform
import Testing
import Waymark
import WaymarkCare

@testable import WaymarkCommand

/// What a person reads about the service of a node, and what the node tells the system that runs it.
struct ServiceTextTests {
  private func service(
    _ manager: Service.Manager, home: String = "/home/ada/.local/share/waymark", isUsualHome: Bool = true
  ) -> Service {
    Service(manager: manager, program: "/usr/bin/waymark", home: home, isUsualHome: isUsualHome)
  }

  // MARK: Files and commands

  @Test func `the service file is where the manager of the user looks for it`() {
    let systemd = service(.systemd)
    let usual = "/home/ada/.config/systemd/user/waymark.service"
    #expect(systemd.file(environment: ["HOME": "/home/ada"]) == usual)
    #expect(
      systemd.file(environment: ["HOME": "/home/ada", "XDG_CONFIG_HOME": "/conf"])
        == "/conf/systemd/user/waymark.service")
    // A relative path is not valid there, and is ignored.
    #expect(systemd.file(environment: ["HOME": "/home/ada", "XDG_CONFIG_HOME": "conf"]) == usual)
    #expect(
      service(.launchd).file(environment: ["HOME": "/Users/ada", "XDG_CONFIG_HOME": "/conf"])
        == "/Users/ada/Library/LaunchAgents/local.waymark.plist")
  }

  @Test func `the commands for the log and for a start name the service as a shell reads it`() {
    let other = service(.systemd, home: "/srv/way-mark", isUsualHome: false)
    #expect(other.logCommand == #"journalctl --user -u 'waymark-srv-way\x2dmark'"#)
    #expect(other.startCommand == #"systemctl --user restart 'waymark-srv-way\x2dmark'"#)
    #expect(service(.systemd).logCommand == "journalctl --user -u waymark")
    let mac = service(.launchd, home: "/a b", isUsualHome: false)
    #expect(mac.logCommand == "tail '/a b/node.log'")
    #expect(mac.startCommand == #"launchctl kickstart -k gui/$(id -u)/'local.waymark-a\x20b'"#)
  }

  @Test func `a unit is not started again after failures that a start can't repair`() {
    let codes = [ExitCode.usage, ExitCode.noStore, ExitCode.badKey].map { "\($0)" }.joined(separator: " ")
    let text = service(.systemd).text
    #expect(text.contains("\nRestartPreventExitStatus=\(codes)\n"))
    #expect(text.contains("\nDescription=Waymark, trips and habits on all your devices\n"))
    #expect(!text.contains("WAYMARK_PASSPHRASE_FILE"))
    let other = service(.systemd, home: "/srv/50%", isUsualHome: false).text
    #expect(other.contains("\nDescription=Waymark, trips and habits on all your devices (/srv/50%%)\n"))
  }

  // MARK: Answers

  private static let common: JSON = [
    "manager": "systemd", "unit": "waymark.service", "home": "/h", "program": "/usr/bin/waymark",
    "log": "journalctl --user -u waymark",
  ]

  @Test func `an installation says what was installed, and what is left to do`() throws {
    func installed(_ more: JSON) throws -> (data: String, notes: String) {
      let answer = Answers.completed(
        more,
        by: ["text": "[Unit]\n", "written": "/u/waymark.service", "packaged": nil, "lingers": true])
      return try answerText(
        InstallService.self, "service.install", [:], Answers.completed(answer, by: Self.common))
    }
    let head = "waymark.service is installed and running, and starts at every login. "
    let done = try installed([:])
    #expect(done.data == head + "file /u/waymark.service log journalctl --user -u waymark")
    #expect(done.notes.isEmpty)
    #expect(try installed(["lingers": nil]).notes.isEmpty, "not known")
    #expect(
      try installed(["lingers": false]).notes
        == "Next: loginctl enable-linger, to keep it running while you are logged out")
    #expect(
      try installed(["program": "/src/.build/debug/waymark"]).notes.hasPrefix(
        "The program is in a build folder."))
    let packaged = try installed(["written": nil, "packaged": "/usr/lib/waymark.service"])
    #expect(packaged.data.hasPrefix(head + "file /usr/lib/waymark.service"))
    // What is only printed is not installed.
    let printed = try installed(["written": nil, "lingers": false])
    #expect(printed.data == "[Unit]" && printed.notes.isEmpty)
  }

  @Test func `the state of a service names the next step only if the service does not run`() throws {
    func state(_ more: JSON) throws -> (data: String, notes: String) {
      let answer = Answers.completed(
        more,
        by: [
          "file": "/u/waymark.service", "active": "active", "enabled": "enabled", "text": nil,
          "running": true, "next": "journalctl --user -u waymark",
        ])
      return try answerText(
        ShowService.self, "service.status", [:], Answers.completed(answer, by: Self.common))
    }
    let places = "file /u/waymark.service home /h log journalctl --user -u waymark"
    let active = try state([:])
    #expect(active.data == "waymark.service active · starts at every login " + places)
    #expect(active.notes.isEmpty)
    let failed = try state([
      "active": "failed", "enabled": "disabled", "text": "Opening the store",
      "next": "systemctl --user restart waymark",
    ])
    #expect(failed.data == "waymark.service failed status Opening the store " + places)
    #expect(failed.notes == "Next: systemctl --user restart waymark")
    #expect(try state(["active": nil, "enabled": nil]).data == "waymark.service unknown " + places)
    for (isRunning, words) in [(true, "running without one"), (false, "not running")] {
      let none = try state(["file": nil, "active": nil, "running": .bool(isRunning)])
      #expect(none.data == "no service · the node is \(words)")
      #expect(none.notes == "Next: waymark service install")
    }
  }

  @Test func `a service that is removed, disabled or missing is reported as such`() throws {
    func uninstalled(removed: String?, disabled: String?) throws -> String {
      let more: JSON = ["removed": .text(removed), "disabled": .text(disabled)]
      return try answerText(
        UninstallService.self, "service.uninstall", [:], Answers.completed(more, by: Self.common)
      ).notes
    }
    let kept = " The store and the keys were not changed."
    #expect(
      try uninstalled(removed: "/u/waymark.service", disabled: nil) == "Removed /u/waymark.service." + kept)
    #expect(
      try uninstalled(removed: nil, disabled: "/usr/lib/waymark.service")
        == "Stopped and disabled waymark.service; /usr/lib/waymark.service belongs to a package and stays."
        + kept)
    #expect(try uninstalled(removed: nil, disabled: nil) == "No service is installed for this home.")
  }

  // MARK: Reports to the manager

  @Test(
    arguments: [
      ("6000000", .seconds(6)), ("1", .microseconds(1)), ("0", nil), ("-1", nil), ("soon", nil), ("", nil),
    ] as [(String, Duration?)])
  func `only a positive number of microseconds asks for signs of life`(text: String, period: Duration?) {
    let environment = ["NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": text]
    #expect(ServiceNotifier(environment: environment, process: 7).watchdog == period)
    let other = environment.merging(["WATCHDOG_PID": "nobody"]) { $1 }
    #expect(ServiceNotifier(environment: other, process: 7).watchdog == nil)
  }

  @Test func `the status counts the connected devices among all others`() {
    func text(_ connected: Int, of others: Int) -> String {
      ServiceNotifier.text((connected: connected, others: others), "[::]:7433")
    }
    #expect(text(0, of: 0) == "Serving at [::]:7433, no other device yet")
    #expect(text(0, of: 1) == "Serving at [::]:7433, connected to 0 of 1 device")
    #expect(text(1, of: 2) == "Serving at [::]:7433, connected to 1 of 2 devices")
  }

  @Test func `a report is one message, and its status has no line that the manager would obey`() throws {
    let path = "/tmp/wm-\(UUID().uuidString.prefix(8))"
    let descriptor = openSocket(AF_UNIX, .datagram)
    try #require(descriptor >= 0)
    defer {
      close(descriptor)
      unlink(path)
    }
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let length = socklen_t(MemoryLayout<sockaddr_un>.size)
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
    }
    try #require(code == 0)
    func heard() -> String {
      var buffer = [UInt8](repeating: 0, count: 4_096)
      let count = read(descriptor, &buffer, buffer.count)
      return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
    let notifier = ServiceNotifier(environment: ["NOTIFY_SOCKET": path])
    notifier.status("bob\nREADY=1\u{7}")
    #expect(heard() == "STATUS=bob READY=1\u{FFFD}")
    notifier.ready("Serving\nSTOPPING=1")
    #expect(heard() == "READY=1\nSTATUS=Serving STOPPING=1")
    notifier.stopping("Closing the store")
    #expect(heard() == "STOPPING=1\nSTATUS=Closing the store")
    notifier.alive()
    #expect(heard() == "WATCHDOG=1")
    #expect(heard().isEmpty)
  }

  // MARK: The browser

  @Test(.enabled(if: OperatingSystem.current == .linux, "elsewhere there is always a desktop"))
  func `without a desktop nothing is opened, and no file with the code of a page is left`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "waymark-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let environments: [[String: String]] = [
      [:], ["DISPLAY": ""], ["WAYLAND_DISPLAY": "", "PATH": "/usr/bin"],
    ]
    for environment in environments {
      #expect(!Browser.open(file: folder.path + "/page.html", environment))
      let link = "http://127.0.0.1:4000/#code"
      #expect(!Browser.open(link: link, home: Home(path: folder.path), environment))
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }
}
