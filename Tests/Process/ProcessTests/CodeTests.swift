import Foundation
import JSONDocument
import Processes
import Testing
import Wire

/// Pairing by six digits, between real programs.
@Suite(.serialized) struct CodeTests {
  /// Starts `invite --code` in the background and returns its process with the digits that it shows.
  private func invite(
    _ device: Device, _ arguments: [String] = [], under wrapper: [String] = []
  ) async throws -> (child: Child, code: String, errors: URL) {
    let (child, output, errors) = try device.begin(["invite", "--code"] + arguments, under: wrapper)
    var code = ""
    try await eventually("\(device.name) shows a code") {
      code = try String(contentsOf: output, encoding: .utf8)
      return code.hasSuffix("\n")
    }
    return (child, String(code.filter(\.isNumber)), errors)
  }

  private func listenOnLoopback(_ device: Device) throws {
    try Data(#"{"listen": "127.0.0.1:0"}"#.utf8).write(to: URL(filePath: device.home + "/config.json"))
  }

  /// Another code than the given one.
  private func wrong(_ code: String) -> String { (code.hasPrefix("1") ? "2" : "1") + code.dropFirst() }

  private func names(_ device: Device) async throws -> [String] {
    try await device.json("members")["members"]?.array?.compactMap { $0["name"]?.string } ?? []
  }

  @Test func `two devices on two machines of one network pair by six digits, after a wrong code`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    guard let network = try await TwoMachines(on: stage) else { return }
    let (alice, bob) = (Device("alice", on: stage), Device("bob", on: stage))
    try await alice.text("init", "--name", "laptop")
    let (inviter, code, errors) = try await invite(alice, under: network.first)
    #expect(code.count == 6)
    let told = try String(contentsOf: errors, encoding: .utf8)
    for text in ["waymark join \(code)", "10 minutes", "member", "--at 10.77.0.1:7433"] {
      #expect(told.contains(text), "\(told)")
    }

    let refused = try await bob.run(["join", wrong(code), "--name", "phone"], under: network.second)
    #expect(refused.code == 1, "\(refused)")
    #expect(refused.errors.contains("The code is wrong: 2 tries are left."), "\(refused)")
    #expect(refused.errors.contains("Trying the code with “laptop” at"), "\(refused)")
    #expect(inviter.code == nil)

    let joined = try await bob.run(["join", code, "--name", "phone", "--json"], under: network.second)
    #expect(joined.code == 0 && joined.json["name"]?.string == "phone", "\(joined)")
    #expect(try await inviter.wait(seconds: 10, for: "the inviter, after a device has joined") == 0)
    #expect(try await Set(names(alice)) == ["laptop", "phone"])
  }

  @Test func `three wrong codes end an offer, also for the right one, and the inviter says so`() async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "laptop")
    try listenOnLoopback(alice)
    let (inviter, code, errors) = try await invite(alice)
    let address = try String(contentsOf: errors, encoding: .utf8).split(separator: "--at ").last
      .map { String($0.prefix { !$0.isWhitespace }) }
    let place = try #require(address)
    let bob = Device("bob", on: stage)
    for sentence in ["2 tries are left", "1 try is left", "That was the last try"] {
      let refused = try await bob.run(["join", wrong(code), "--at", place])
      #expect(refused.code == 1 && refused.errors.contains(sentence), "\(refused)")
    }
    let late = try await bob.run(["join", code, "--at", place])
    #expect(late.code == 1 && late.errors.contains("offers no code now"), "\(late)")
    #expect(try await inviter.wait(seconds: 20, for: "the inviter, after three wrong codes") == 1)
    #expect(try String(contentsOf: errors, encoding: .utf8).contains("3 wrong codes were tried"))
    #expect(try await names(alice) == ["laptop"])
  }

  @Test func `breaking off after the inviter's share counts as a try, whatever is sent before`() async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: false)
    let alice = circle.founder
    let code = try await alice.text("invite", "--code")
    let strangers = try stage.python(Self.breaksOff, [alice.address, "3"])
    #expect(try await strangers.wait(seconds: 20, for: "strangers that break off") == 0)
    #expect(try await alice.json("invite", "list")["items"]?[0]?["triesLeft"]?.integer == 0)
    let late = try await Device("bob", on: stage).run(["join", code, "--at", alice.address])
    #expect(late.code == 1 && late.errors.contains("offers no code now"), "\(late)")
  }

  @Test func `of two devices with the right code at once, one joins`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: false)
    let alice = circle.founder
    let code = try await alice.text("invite", "--code")
    async let first = Device("bob", on: stage).run(["join", code, "--at", alice.address])
    async let second = Device("carol", on: stage).run(["join", code, "--at", alice.address])
    let outcomes = try await [first, second]
    #expect(outcomes.map(\.code).sorted() == [0, 1], "\(outcomes)")
    #expect(try await names(alice).count == 2)
    let loser = outcomes.first { $0.code == 1 }
    #expect(
      ["already used", "offers no code now"].contains { loser?.errors.contains($0) == true }, "\(outcomes)")
  }

  @Test func `an invitation is listed without its secret, and can be cancelled`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: false)
    let alice = circle.founder
    let ticket = try await alice.text("invite", "--role", "admin")
    let earlier = try await alice.text("invite", "--code")
    let code = try await alice.text("invite", "--code")
    let items = try await alice.json("invite", "list")["items"]?.array ?? []
    #expect(Set(items.compactMap { $0["kind"]?.string }) == ["ticket", "code"] && items.count == 2)
    #expect(!items.contains { $0.text().contains(ticket) || $0.text().contains(code) })
    let bob = Device("bob", on: stage)
    if earlier != code {
      let replaced = try await bob.run(["join", earlier, "--at", alice.address])
      #expect(replaced.code == 1 && replaced.errors.contains("The code is wrong"), "\(replaced)")
    }
    for item in items { try await alice.text("invite", "cancel", item["id"]?.string ?? "") }
    #expect(try await alice.json("invite", "list")["items"]?.array?.isEmpty == true)
    let cancelled = try await bob.run(["join", code, "--at", alice.address])
    #expect(cancelled.code == 1 && cancelled.errors.contains("offers no code now"), "\(cancelled)")
    let refused = try await bob.run(["join", "-"], input: ticket)
    #expect(refused.code == 1 && refused.errors.contains("rejected the ticket"), "\(refused)")
    #expect(try await alice.run(["invite", "cancel", "zz"]).code == 8)
  }

  @Test func `a command that waits for a device ends when its invitation is cancelled`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let alice = Device("alice", on: stage)
    try await alice.text("init", "--name", "laptop")
    try listenOnLoopback(alice)
    let (inviter, _, errors) = try await invite(alice)
    let id = try await alice.json("invite", "list")["items"]?[0]?["id"]?.string ?? ""
    try await alice.text("invite", "cancel", id)
    #expect(try await inviter.wait(seconds: 10, for: "the inviter, after its invitation was cancelled") == 1)
    #expect(try String(contentsOf: errors, encoding: .utf8).contains("The invitation was cancelled"))
  }

  @Test func `a joiner does not try its code if several devices offer one`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    guard let network = try await TwoMachines(on: stage) else { return }
    let (alice, mallory) = (Device("alice", on: stage), Device("mallory", on: stage))
    let bob = Device("bob", on: stage)
    try await alice.text("init", "--name", "laptop")
    try await mallory.text("init", "--name", "laptop of a stranger")
    let (inviter, code, _) = try await invite(alice, under: network.first)
    let (stranger, _, _) = try await invite(mallory, under: network.second)
    let asked = try await bob.run(["join", code], under: network.second)
    #expect(asked.code == 2 && asked.errors.contains("the code was not tried"), "\(asked)")
    for name in ["laptop", "laptop of a stranger"] {
      #expect(asked.errors.contains("“\(name)” at"), "\(asked)")
    }
    let joined = try await bob.run(["join", code, "--on", "laptop"], under: network.second)
    #expect(joined.code == 0, "\(joined)")
    #expect(try await inviter.wait(seconds: 10, for: "the inviter, after a device has joined") == 0)
    #expect(stranger.code == nil)
  }

  /// Sends as many shares as asked, and closes after each answer.
  private static let breaksOff = """
    import hashlib, os, socket, sys
    host, port = sys.argv[1].rsplit(":", 1)
    key = hashlib.blake2b(b"waymark/code-preamble/v1\\0", digest_size=32).digest()
    share = bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76")
    for number in range(int(sys.argv[2])):
        with socket.create_connection((host, int(port)), timeout=10) as end:
            start = b"WAYMARK\\0\\2" + os.urandom(16)
            end.sendall(start + hashlib.blake2b(start, digest_size=16, key=key).digest() + b"\\0\\x20" + share)
            answer = b""
            while len(answer) < 35:
                part = end.recv(35 - len(answer))
                assert part, answer
                answer += part
            assert answer[-1] == 2 - number, answer
    """
}

/// Two network namespaces that a cable joins, so that two programs run as if on two machines. They end with the stage.
private struct TwoMachines {
  let first: [String]
  let second: [String]

  /// Returns nil, and says that the test is skipped, without the right to create networks.
  init?(on stage: Stage) async throws {
    let holder = try stage.pythonOnStage(Self.script)
    var line = ""
    try await eventually("two networks are joined") {
      line = try String(contentsOf: holder.output, encoding: .utf8)
      return line.hasSuffix("\n")
    }
    let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
    guard words.count == 2 else {
      print("skipped: without the right to make networks, two machines can't be imitated: \(line)")
      return nil
    }
    (first, second) = (Self.inside(words[0]), Self.inside(words[1]))
  }

  private static func inside(_ process: String) -> [String] {
    ["/usr/bin/nsenter", "--net=/proc/\(process)/ns/net", "--"]
  }

  private static let script = """
    import subprocess, time
    def run(*words):
        subprocess.run(words, check=True, capture_output=True)
    try:
        # They read from this program, so they end with it.
        keepers = [subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE) for _ in range(2)]
        for _ in range(100):
            here = subprocess.run(["readlink", "/proc/self/ns/net"], capture_output=True, text=True).stdout
            there = [subprocess.run(["readlink", f"/proc/{one.pid}/ns/net"], capture_output=True, text=True).stdout
                     for one in keepers]
            if here not in there and len(set(there)) == 2:
                break
            time.sleep(0.05)
        first, second = (str(one.pid) for one in keepers)
        run("ip", "link", "add", "wm1", "netns", first, "type", "veth", "peer", "name", "wm2", "netns", second)
        for number, process in ((1, first), (2, second)):
            inside = ["nsenter", f"--net=/proc/{process}/ns/net", "ip"]
            run(*inside, "link", "set", "lo", "up")
            run(*inside, "address", "add", f"10.77.0.{number}/24", "broadcast", "+", "dev", f"wm{number}")
            run(*inside, "link", "set", f"wm{number}", "up")
        print(first, second, flush=True)
        time.sleep(600)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skipped {getattr(error, 'stderr', error)}", flush=True)
    """
}

extension Stage {
  /// Starts Python, which ends with this stage, and returns the file that receives its output.
  fileprivate func pythonOnStage(_ script: String) throws -> (child: Child, output: URL) {
    let output = folder.appending(path: "python-\(number())")
    return (try hold("/usr/bin/env", ["python3", "-c", script], output), output)
  }
}
