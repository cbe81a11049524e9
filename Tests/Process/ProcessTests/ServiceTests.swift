import Foundation
import JSONDocument
import Processes
import Records
import Testing
import Wire

@testable import WaymarkCommand

/// A node run by the system: what it reports to systemd and the journal, and what `service` installs.
@Suite(.serialized) struct ServiceTests {
  /// Binds a datagram socket and prints each message as one line, as `key=value key=value`.
  private static let listener = """
    import socket, sys
    name = sys.argv[1]
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind("\\0" + name[1:] if name.startswith("@") else name)
    print("listening", flush=True)
    while True:
        print(listener.recv(65536).decode().replace("\\n", " | "), flush=True)
    """

  private func listen(_ name: String, on stage: Stage) async throws -> (child: Child, said: () -> [String]) {
    let file = URL(filePath: stage.path("heard-\(stage.number())"))
    let child = try Child(
      URL(filePath: "/usr/bin/env"), ["python3", "-c", Self.listener, name],
      environment: ["PATH": "/usr/bin:/bin"], input: nil, output: file, errors: file)
    let said = {
      ((try? String(contentsOf: file, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
    }
    try await eventually("the socket \(name) is bound") { said().first == "listening" }
    return (child, said)
  }

  @Test(arguments: [false, true])
  func `a node tells its service manager that it is ready, alive, connected, and stopping`(isAbstract: Bool)
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: false)
    let (alice, bob) = (circle["alice"], circle["bob"])
    let name = isAbstract ? "@waymark-\(UUID().uuidString)" : stage.path("notify")
    let (listener, said) = try await listen(name, on: stage)
    defer { listener.signal(SIGKILL) }
    try await bob.start(environment: ["NOTIFY_SOCKET": name, "WATCHDOG_USEC": "3000000"])
    try await eventually("it is ready: \(said())") {
      said().contains { $0.hasPrefix("READY=1 | STATUS=Serving at 127.0.0.1:") }
    }
    try await bob.waitForSync(with: alice)
    try await eventually("it reports its connections: \(said())") {
      said().contains { $0.hasSuffix("connected to 1 of 1 device") }
    }
    func alive() -> Int { said().count { $0 == "WATCHDOG=1" } }
    let before = alive()
    try await eventually("it keeps reporting that it is alive") { alive() > before + 1 }
    // A node that hangs sends no notification.
    let node = try #require(bob.nodeID)
    kill(node, SIGSTOP)
    let stopped = alive()
    try await Task.sleep(for: .seconds(3))
    #expect(alive() <= stopped + 1)
    kill(node, SIGCONT)
    #expect(try await bob.stop() == 0)
    try await eventually("it reports that it stops: \(said())") {
      said().contains("STOPPING=1 | STATUS=Closing the store")
    }
    #expect(said().count { $0.hasPrefix("READY=1") } == 1)
  }

  @Test func `a node that can't start reports the reason too`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (listener, said) = try await listen(stage.path("notify"), on: stage)
    defer { listener.signal(SIGKILL) }
    let alice = Device("alice", on: stage)
    let outcome = try await alice.run(["run"], environment: ["NOTIFY_SOCKET": stage.path("notify")])
    #expect(outcome.code == 10)
    try await eventually("it reports the reason: \(said())") {
      said().last?.hasPrefix("STATUS=There is no Waymark store in") == true
    }
    #expect(!said().contains { $0.contains("READY=1") })
    // A missing notification socket does not keep the node from serving.
    try await alice.text("init", "--name", "alice")
    try await alice.start(environment: ["NOTIFY_SOCKET": stage.path("nobody-listens")])
    #expect(try await alice.stop() == 0)
  }

  @Test func `the journal gets priorities and no times, a program gets objects`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    let log = stage.path("alice-log")
    try Data().write(to: URL(filePath: log))
    var status = stat()
    try #require(stat(log, &status) == 0)
    let journal = ["JOURNAL_STREAM": "\(status.st_dev):\(status.st_ino)"]
    try await alice.start(environment: journal)
    try await alice.text("logging", "level", "info")
    try await eventually("the journal has it: \(alice.log)") {
      alice.log.contains("<6>log: log level set to info\n")
    }
    try await alice.stop()
    #expect(alice.log.split(separator: "\n").allSatisfy { $0.wholeMatch(of: /<[3-7]>[a-z]+: .*/) != nil })

    try await alice.start(environment: journal.merging(["WAYMARK_LOG_FORMAT": "json"]) { $1 })
    try await alice.text("logging", "level", "warning")
    try await alice.stop()
    let last = try JSON.parse(String(alice.log.split(separator: "\n").last ?? ""))
    #expect(last["type"] == "log" && last["area"] == "log" && last["level"] == "info", "\(last)")

    let file = try await alice.run(["run", "--listen", "nowhere", "--log-format", "json"])
    let failure = try JSON.parse(file.errors)
    #expect(failure["type"] == "error" && failure["exit"] == 2 && file.code == 2, "\(file.errors)")
    for (name, value) in [("WAYMARK_LOG", "loud"), ("WAYMARK_LOG_FORMAT", "xml")] {
      let refused = try await alice.run(["run"], environment: [name: value])
      #expect(refused.code == 2)
      expectPlainWords(refused.errors, [name, value], name)
    }
  }

  // MARK: service

  /// A replacement for `systemctl` that records its arguments.
  private static let manager = """
    #!/bin/sh
    echo "$*" >> "$(dirname "$0")/asked"
    case "$*" in
      *" show "*) printf 'ActiveState=active\\nUnitFileState=enabled\\nStatusText=Serving\\n' ;;
      *restart*) [ ! -e "$(dirname "$0")/refuses" ] || { echo "Job failed." >&2; exit 1; } ;;
    esac
    """

  @Test func `a service is written for this home, installed, and removed`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    let tools = stage.path("tools")
    try FileManager.default.createDirectory(atPath: tools, withIntermediateDirectories: true)
    for tool in ["systemctl", "loginctl"] {
      try Self.manager.write(toFile: "\(tools)/\(tool)", atomically: true, encoding: .utf8)
      chmod("\(tools)/\(tool)", 0o755)
    }
    let environment = ["PATH": "\(tools):/usr/bin:/bin", "XDG_CONFIG_HOME": stage.path("config")]
    func service(_ words: String...) async throws -> Outcome {
      try await alice.run(["service"] + words, environment: environment)
    }
    func asked() -> [String] {
      ((try? String(contentsOfFile: tools + "/asked", encoding: .utf8)) ?? "").split(separator: "\n")
        .map(String.init)
    }
    let early = try await service("install")
    #expect(early.code == 10)
    expectPlainWords(early.errors, ["waymark init"], "service install")
    try await alice.text("init", "--name", "alice")
    #expect(try await service().output.contains("no service"))

    #expect(try await service("install").code == 0)
    let status = try await service("status", "--json").json
    let unit = status["unit"]?.string ?? ""
    #expect(unit.hasPrefix("waymark-tmp-wm") && unit.hasSuffix("alice.service"), "\(unit)")
    let file = stage.path("config/systemd/user/\(unit)")
    #expect(status["file"]?.string == file && status["active"] == "active" && status["running"] == false)
    let text = try String(contentsOfFile: file, encoding: .utf8)
    #expect(text.contains("\"--home\" \"\(alice.home)\" \"run\""))
    #expect(
      asked().filter { !$0.contains("show") }
        == ["--user daemon-reload", "--user reenable \(unit)", "--user restart \(unit)"])
    // A second install writes it again.
    #expect(try await service("install").code == 0)

    #expect(try await service("uninstall").code == 0)
    #expect(!FileManager.default.fileExists(atPath: file))
    #expect(asked().contains("--user disable --now \(unit)"))
    #expect(try await service("uninstall").code == 0, "the second time there is nothing to do")

    try Data().write(to: URL(filePath: tools + "/refuses"))
    let refused = try await service("install")
    #expect(refused.code == 1)
    expectPlainWords(refused.errors, ["Job failed", "journalctl --user -u"], "service install")
    let missing = try await alice.run(
      ["service", "install"],
      environment: ["PATH": stage.path("empty"), "XDG_CONFIG_HOME": stage.path("config")])
    #expect(missing.code == 1)
    expectPlainWords(missing.errors, ["no systemctl", " run"], "service install without systemd")
  }

  @Test func `a service that could not work is not installed`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    let environment = ["PATH": stage.path("empty"), "XDG_CONFIG_HOME": stage.path("config")]
    try await alice.start()
    let running = try await alice.run(["service", "install"], environment: environment)
    #expect(running.code == 11)
    expectPlainWords(running.errors, ["already running", "Ctrl-C"], "service install while a node runs")
    try await alice.stop()
    let secret = try stage.write(Array("four words nobody guesses\n".utf8), "secret")
    chmod(secret, 0o600)
    try await alice.text("keys", "passphrase", "set", "--file", secret)
    let sealed = try await alice.run(["service", "install"], environment: environment)
    #expect(sealed.code == 12)
    expectPlainWords(sealed.errors, ["WAYMARK_PASSPHRASE_FILE=FILE waymark service install"], "sealed")
    #expect(!FileManager.default.fileExists(atPath: stage.path("config")))
    let shown = try await alice.run(
      ["service", "install", "--print", "systemd"], environment: ["WAYMARK_PASSPHRASE_FILE": secret])
    #expect(shown.output.contains("Environment=\"WAYMARK_PASSPHRASE_FILE=\(secret)\""))
    let odd = try await Device("a\nb", on: stage).run(["service", "install", "--print", "systemd"])
    #expect(odd.code == 2)
  }

  @Test func `systemd and launchd accept the files written for them`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("50% of $HOME & \"more\"", on: stage)
    let unit = try await alice.text("service", "install", "--print", "systemd")
    let file = try stage.write(Array(unit.utf8), "waymark.service")
    try await check(
      stage, "/usr/bin/systemd-analyze", ["verify", "--user", "--man=no", file], "apt install systemd")
    let list = try await alice.text("service", "install", "--print", "launchd")
    let plist = try stage.write(Array(list.utf8), "waymark.plist")
    let script = """
      import plistlib, sys
      words = plistlib.load(open(sys.argv[1], "rb"))["ProgramArguments"]
      assert words[1:] == ["--home", sys.argv[2], "run"], words
      """
    let child = try stage.python(script, [plist, alice.home])
    #expect(try await child.wait(seconds: 20, for: "plistlib") == 0)
  }

  @Test func `a real service manager starts it, watches it, and stops it`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (code, said) = try await stage.script("Tests/Process/Service/run", [], seconds: 150)
    #expect(code == 0, "\(said)")
  }

  @Test func `everything that is installed is there, works, and can be uninstalled`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let (code, said) = try await stage.script("Tests/Process/Install/run", [], seconds: 120)
    #expect(code == 0, "\(said)")
  }

  @Test func `the examples of help work as printed`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    let script = """
      import shlex, subprocess, sys
      program, home, folder = sys.argv[1:4]
      open(folder + "/ticket.pdf", "w").write("pdf")
      for line in sys.argv[4:]:
          words = [program, "--home", home] + shlex.split(line)[1:]
          done = subprocess.run(words, capture_output=True, text=True, cwd=folder)
          if done.returncode:
              sys.exit(f"{line}: {done.stderr}")
      """
    // One example after the other, as a user would try them; a habit entry has no name to refer to.
    let kinds = Schema.builtIn.listed.map(\.name).sorted { $0 != "entry" && $1 == "entry" }
    var lines: [String] = []
    for kind in kinds {
      for action in ["add", "edit", "show", "list", "delete", "restore"]
      where kind != "entry" || ["add", "list"].contains(action) {
        lines += CommandTable.all.filter { $0.words == [kind, action] }.compactMap(\.example)
      }
    }
    #expect(lines.count == 9 * 6 + 2)
    let said = URL(filePath: stage.path("said"))
    let child = try Child(
      URL(filePath: "/usr/bin/env"),
      ["python3", "-c", script, Build.plain.program.path, alice.home, stage.folder.path] + lines,
      environment: [
        "PATH": "/usr/bin:/bin", "TZ": "UTC",
        "LD_LIBRARY_PATH": ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"] ?? "",
      ], input: nil, output: said, errors: said)
    let code = try await child.wait(seconds: 90, for: "the examples of help")
    let text = try String(contentsOf: said, encoding: .utf8)
    #expect(code == 0, "\(text)")
  }

  // MARK: Shell completions and the manual page

  @Test func `man formats the manual page without a warning`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let page = try await Device("alice", on: stage).text("manual")
    let file = try stage.write(Array((page + "\n").utf8), "waymark.1")
    try await check(stage, "/usr/bin/mandoc", ["-Tlint", "-Wwarning", file], "apt install mandoc")
    try await check(
      stage, "/usr/bin/groff", ["-man", "-Tutf8", "-ww", "-z", file], "apt install groff")
  }

  /// A partial line whose last word is last, and some completions that must be offered.
  private static let lines: [(words: [String], has: [String], hasNot: [String])] = [
    (["st"], ["status"], ["trip"]),
    (["trip", ""], ["list", "timeline"], ["status", "--json"]),
    (["--home", "trip", "peers", ""], ["add", "ping"], ["timeline"]),
    (["export", "--format", ""], ["ics", "loop-csv"], ["--trip"]),
    (["invite", "--role", "a"], ["admin"], ["member"]),
    (["logging", "level", ""], ["debug", "warning"], []),
    (["mirror", "--only", ""], ["trip", "attachment"], []),
    (["trip", "list", "--d"], ["--deleted"], ["--json"]),
    (["peers", "list", "--"], ["--json", "--home"], ["--deleted"]),
    (["help", "re"], ["reasons", "revoking"], ["status"]),
    (["trip", "show", "Rome", ""], [], ["list", "add"]),
    (["backup", "known-f"], ["known-file"], []),
    // From the store, whose records `complete` adds.
    (["trip", "show", ""], ["Rome"], ["Gone", "Read"]), (["trip", "restore", ""], ["Gone"], ["Rome"]),
    (["habit", "tick", "r"], ["Read"], ["Rome"]), (["export", "--trip", ""], ["Rome"], ["Gone"]),
    (["settings", "get", "color"], ["colorScheme"], ["Rome"]),
    (["lodging", "add", ""], ["name=", "trip=", "startTZ="], ["startTZId=", "Rome"]),
    (["trip", "edit", "Rome", "n"], ["name=", "notes="], ["startDate="]),
    (["conflicts", "resolve", "x", "--take", ""], ["winner", "loser"], []),
    (["sync", "--take", ""], [], ["Rome"]),
  ]

  /// A field's values. Bash splits the word at the equals sign, and completes what follows it.
  private static func fieldLines(_ shell: String) -> [(words: [String], has: [String], hasNot: [String])] {
    shell == "bash"
      ? [
        (["habit", "add", "kind", "=", ""], ["binary", "numeric"], ["kind=binary"]),
        (["lodging", "add", "name", "=", "x", "trip", "=", "R"], ["Rome"], ["Gone"]),
      ]
      : [
        (["habit", "add", "kind="], ["kind=binary", "kind=numeric"], []),
        (["lodging", "add", "name=x", "trip=R"], ["trip=Rome"], ["trip=Gone"]),
      ]
  }

  @Test func `bash completes commands, options and values`() async throws {
    try await complete(
      "bash", Build.plain,
      """
      cd "$1"; shift; source "$1"; shift
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _waymark; printf '%s\\n' "${COMPREPLY[@]}"
      """)
  }

  @Test func `fish completes commands, options and values`() async throws {
    try await complete(
      "fish", Build.plain,
      """
      cd $argv[1]; source $argv[2]; complete -C (string join ' ' -- $argv[3..-1])
      """)
  }

  @Test func `zsh completes commands, options and values`() async throws {
    try await complete(
      "zsh", Build.plain,
      """
      cd "$1"; source <(print "_describe() { local -a all; all=(\\${(P)@[-1]}); print -l -- \\${all%%:*} }
        compadd() { shift; print -l -- \\$@ }; _files() { print -l -- * }; compset() { : }; compdef() { : }")
      eval "$(<$2)"; shift 2; words=("$@"); CURRENT=$#; _waymark
      """, filtersItself: false)
  }

  private func complete(_ shell: String, _ build: Build, _ script: String, filtersItself: Bool = true)
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    guard
      let tool = ["/usr/bin/\(shell)", "/bin/\(shell)"].first(where: FileManager.default.isExecutableFile)
    else { return print("skipped: \(shell) is missing (Debian: apt install \(shell))") }
    let folder = stage.path("folder")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data().write(to: URL(filePath: folder + "/known-file"))
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "alice")
    for name in ["Rome", "Gone"] { try await alice.text("trip", "add", "name=\(name)") }
    try await alice.text("trip", "delete", "Gone")
    try await alice.text("habit", "add", "name=Read")
    let file = try stage.write(Array(try await alice.text("completions", shell).utf8), "script")
    for line in Self.lines + Self.fieldLines(shell) {
      let said = URL(filePath: stage.path("said-\(stage.number())"))
      let name = shell == "bash" ? ["bash"] : shell == "zsh" ? ["zsh"] : []
      let child = try Child(
        URL(filePath: tool),
        (shell == "zsh" ? ["-f"] : []) + ["-c", script] + name
          + [folder, file, build.program.path] + line.words,
        environment: [
          "PATH": "/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8", "WAYMARK_HOME": alice.home,
          "LD_LIBRARY_PATH": ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"] ?? "",
        ], input: nil, output: said,
        errors: said)
      let code = try await child.wait(seconds: 20, for: shell)
      let all = try String(contentsOf: said, encoding: .utf8)
      let offered = all.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
      #expect(code == 0, "\(shell) \(line.words): \(all)")
      for word in line.has { #expect(offered.contains(word), "\(shell) \(line.words): \(offered)") }
      // zsh later filters out candidates that do not begin with the word.
      for word in line.hasNot where filtersItself || word.hasPrefix(line.words.last ?? "") {
        #expect(!offered.contains(word), "\(shell) \(line.words): \(offered)")
      }
    }
  }

  /// Runs a checker on a file; it must report nothing.
  private func check(_ stage: Stage, _ tool: String, _ words: [String], _ advice: String) async throws {
    guard FileManager.default.isExecutableFile(atPath: tool) else {
      return print("skipped: \(tool) is missing (Debian: \(advice))")
    }
    let said = URL(filePath: stage.path("said-\(stage.number())"))
    let child = try Child(
      URL(filePath: tool), words,
      environment: [
        "PATH": "/usr/bin:/bin", "HOME": stage.path("nobody"), "XDG_RUNTIME_DIR": stage.folder.path,
        "LANG": "C.UTF-8",
      ], input: nil, output: said, errors: said)
    let code = try await child.wait(seconds: 30, for: tool)
    let text = try String(contentsOf: said, encoding: .utf8)
    #expect(code == 0 && text.isEmpty, "\(tool): \(text)")
  }
}
