import Platform
import Waymark

/// A node as a service: the unit for systemd, or the property list for launchd.
struct Service: Hashable, Sendable {
  enum Manager: String, CaseIterable, Sendable {
    case systemd
    case launchd

    /// The service manager of this system.
    static let here: Manager =
      switch OperatingSystem.current {
      case .apple: .launchd
      case .linux: .systemd
      }
  }

  let manager: Manager
  /// The absolute path of the program.
  let program: String
  let home: String
  /// Whether this is the default home.
  let isUsualHome: Bool
  /// The absolute path of the file with the passphrase of a sealed key.
  var passphraseFile: String?
  /// Whether the service file belongs to a package and serves every user.
  private(set) var isPackaged = false

  /// The unit that a package of a Linux distribution installs for all users.
  static let packaged: Service = {
    var service = Service(
      manager: .systemd, program: "/usr/bin/waymark", home: "%h/.local/share/waymark", isUsualHome: true)
    service.isPackaged = true
    return service
  }()

  /// The path where a package installs its unit.
  static let packagedFile = "/usr/lib/systemd/user/waymark.service"

  /// Whether the installed unit of a package does what this unit would do, so that the user needs none.
  func isCovered(byPackagedText text: String?, resolvedProgram: String, userDirectory: String?) -> Bool {
    manager == .systemd && passphraseFile == nil && resolvedProgram == Self.packaged.program
      && isUsualHome && home == userDirectory.map { $0 + "/.local/share/waymark" }
      && text == Self.packaged.text
  }

  /// The name of the service: one per home; the default home has the short name.
  var name: String { isUsualHome ? "waymark" : "waymark-" + Self.escaped(home) }

  /// The name of the unit or agent for systemd or launchd.
  var unit: String {
    switch manager {
    case .systemd: name + ".service"
    case .launchd: "local.\(name)"
    }
  }

  /// The path where the manager looks for service files of one user.
  func file(environment: [String: String]) -> String {
    let user = environment["HOME"] ?? "."
    switch manager {
    case .systemd:
      let configuration = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
      return (configuration ?? user + "/.config") + "/systemd/user/" + unit
    case .launchd: return "\(user)/Library/LaunchAgents/\(unit).plist"
    }
  }

  /// A path as a part of a unit's name, as `systemd-escape --path` writes it.
  static func escaped(_ path: String) -> String {
    let parts = path.split(separator: "/")
    guard !parts.isEmpty else { return "-" }
    return parts.joined(separator: "/").utf8.enumerated().map { index, byte in
      switch byte {
      case UInt8(ascii: "/"): "-"
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: ":"):
        String(UnicodeScalar(byte))
      case UInt8(ascii: ".") where index > 0: "."
      default: "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
    }.joined()
  }

  var text: String {
    switch manager {
    case .systemd: systemdUnit
    case .launchd: launchdPropertyList
    }
  }

  // MARK: systemd

  /// A user unit. It forbids only what no node does, as far as a manager without privileges can forbid it. The user's
  /// files stay accessible, because the node performs `waymark backup FILE` and `waymark import FILE`.
  private var systemdUnit: String {
    // In the unit of a package, systemd inserts the directory of the user.
    let home = isPackaged ? "\"\(home)\"" : Self.quoted(home)
    let words = [Self.quoted(program), Self.quoted("--home"), home, Self.quoted("run")].joined(separator: " ")
    let origin =
      isPackaged
      ? "Installed by the package; `waymark service install` enables it for a user."
      : "Written by `waymark service install`, removed by `waymark service uninstall`."
    let secret = passphraseFile.map { "Environment=\(Self.quoted("WAYMARK_PASSPHRASE_FILE=" + $0))\n" } ?? ""
    return """
      # \(origin)
      [Unit]
      Description=Waymark, trips and habits on all your devices\(isUsualHome ? "" : " (\(Self.plain(self.home)))")
      Documentation=man:waymark(1)

      [Service]
      Type=notify
      ExecStart=\(words)
      \(secret)Restart=on-failure
      RestartSec=5
      # Wrong usage, no store, a wrong or sealed key: starting again would not help.
      RestartPreventExitStatus=2 10 12
      # After a disk failure the whole store is verified before the node serves it.
      TimeoutStartSec=15min
      # A large import may keep the node busy for minutes.
      WatchdogSec=10min
      UMask=0077
      # A core file would contain the keys.
      LimitCORE=0
      # A large import must not slow the rest of the machine down.
      MemoryMax=50%
      TasksMax=512

      NoNewPrivileges=yes
      KeyringMode=private
      LockPersonality=yes
      MemoryDenyWriteExecute=yes
      RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
      RestrictNamespaces=yes
      RestrictRealtime=yes
      RestrictSUIDSGID=yes
      SystemCallArchitectures=native
      SystemCallFilter=@system-service
      SystemCallFilter=~@privileged
      SystemCallErrorNumber=EPERM

      [Install]
      WantedBy=default.target

      """
  }

  /// A word quoted for systemd, with `%` and `$` escaped.
  static func quoted(_ word: String) -> String {
    let inner = plain(word).replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
      .replacing("$", with: "$$")
    return "\"\(inner)\""
  }

  private static func plain(_ text: String) -> String { text.replacing("%", with: "%%") }

  // MARK: launchd

  private var launchdPropertyList: String {
    let words = [program, "--home", home, "run"]
    let arguments = words.map { "    <string>\(Self.marked($0))</string>" }.joined(separator: "\n")
    let secret =
      passphraseFile.map {
        """
          <key>EnvironmentVariables</key>
          <dict>
            <key>WAYMARK_PASSPHRASE_FILE</key>
            <string>\(Self.marked($0))</string>
          </dict>

        """
      } ?? ""
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">
      <dict>
        <key>Label</key>
        <string>\(Self.marked(unit))</string>
        <key>ProgramArguments</key>
        <array>
      \(arguments)
        </array>
      \(secret)  <key>RunAtLoad</key>
        <true/>
        <key>KeepAlive</key>
        <dict>
          <key>SuccessfulExit</key>
          <false/>
        </dict>
        <key>ThrottleInterval</key>
        <integer>10</integer>
        <key>ProcessType</key>
        <string>Background</string>
        <key>Umask</key>
        <integer>63</integer>
        <key>StandardErrorPath</key>
        <string>\(Self.marked(home))/node.log</string>
      </dict>
      </plist>

      """
  }

  private static func marked(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
  }
}
