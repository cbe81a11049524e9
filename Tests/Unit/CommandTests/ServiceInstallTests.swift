import Console
import Control
import Foundation
import JSONDocument
import Platform
import Testing
import Waymark
import WaymarkCare

@testable import WaymarkCommand

/// What `service install` prints, writes and removes.
struct ServiceInstallTests {
  private func context(home: String, _ environment: [String: String]) -> CommandContext {
    let terminal = Terminal(noColor: true, environment: [:])
    return CommandContext(
      home: Home(path: home), terminal: terminal, environment: environment,
      events: EventPrinter(terminal, printsJSON: false), printsJSON: false)
  }

  @Test func `a unit is named after its home, unless that is the usual one`() async throws {
    let usual = "/home/ada/data/waymark"
    let own = ["HOME": "/home/ada", "XDG_DATA_HOME": "/home/ada/data"]
    let rows: [(home: String, environment: [String: String], unit: String)] = [
      (usual, own, "waymark.service"),
      ("/srv/ada", own, "waymark-srv-ada.service"),
      // The variable changes which home is used, but not which one is the usual one.
      ("/srv/ada", own.merging(["WAYMARK_HOME": "/srv/ada"]) { $1 }, "waymark-srv-ada.service"),
      (usual, own.merging(["WAYMARK_HOME": usual]) { $1 }, "waymark.service"),
    ]
    for (home, environment, unit) in rows {
      let answer = try await InstallService(print: "systemd").run(context(home: home, environment))
      #expect(answer.unit == unit && answer.home == home, "\(home) \(environment)")
      #expect(answer.manager == "systemd" && answer.file == nil, "it is only printed")
      #expect(answer.text.contains("\"--home\" \"\(home)\" \"run\""), "\(answer.text)")
    }
  }

  @Test func `the unit for a package runs the installed program with the home of each user`() async throws {
    let answer = try await InstallService(print: "package").run(
      context(home: "/srv/ada", ["HOME": "/home/ada"]))
    #expect(answer.program == "/usr/bin/waymark" && answer.home == "%h/.local/share/waymark")
    #expect(answer.text == Service.packaged.text && answer.file == nil)
  }

  @Test func `the document says what was installed, and of an unknown only that it is unknown`() throws {
    func document(_ more: JSON) throws -> JSON {
      let common: JSON = [
        "manager": "systemd", "unit": "waymark.service", "home": "/h", "program": "/usr/bin/waymark",
        "log": "journalctl --user -u waymark", "text": "[Unit]", "written": nil, "packaged": nil,
        "lingers": nil,
      ]
      let answer = try AnswerCoding.decode(
        InstallService.Answer.self, from: Answers.completed(more, by: common))
      return try InstallService().document(answer, home: nil)
    }
    let printed = try document(["lingers": false])
    #expect(printed["manager"] == "systemd" && printed["unit"] == "waymark.service")
    #expect(printed["home"] == "/h" && printed["program"] == "/usr/bin/waymark")
    #expect(printed["log"] == "journalctl --user -u waymark" && printed["text"] == "[Unit]")
    #expect(printed["written"]?.isNull == true && printed["packaged"]?.isNull == true)
    #expect(printed["lingers"] == nil, "nothing is installed")
    let written = try document(["written": "/u/waymark.service", "lingers": false])
    #expect(written["written"] == "/u/waymark.service" && written["lingers"] == false)
    let packaged = try document(["packaged": "/usr/lib/w.service", "lingers": true])
    #expect(packaged["packaged"] == "/usr/lib/w.service" && packaged["lingers"] == true)
  }

  @Test func `a service file that can't be removed is an error`() {
    let service = Service(
      manager: .launchd, program: "/w", home: "/srv/\(UUID().uuidString)", isUsualHome: false)
    let failure = #expect(throws: WaymarkError.self) {
      try ServiceManager(service).remove("/nonexistent/waymark.plist")
    }
    #expect(failure?.reason == .file && failure?.message == "/nonexistent/waymark.plist can't be removed.")
  }

  @Test func `a system that can't say whether services outlive a login is not told to change that`()
    async throws
  {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init", "--name", "alice")
      let tools = workshop.path("tools")
      try FileManager.default.createDirectory(atPath: tools, withIntermediateDirectories: true)
      try "#!/bin/sh\nprintf '%s\\n' \"$*\" >> '\(tools)/asked'\n"
        .write(toFile: tools + "/systemctl", atomically: true, encoding: .utf8)
      chmod(tools + "/systemctl", 0o755)
      func service(_ words: String) async throws -> TestDevice.Outcome {
        try await alice.shell("PATH='\(tools)' XDG_CONFIG_HOME='\(tools)' $W service \(words)")
      }
      let installed = try await service("install")
      #expect(installed.code == 0 && installed.output.contains("is installed and running"), "\(installed)")
      #expect(!installed.errors.contains("linger"), "\(installed.errors)")
      let status = try await service("status --json").json
      let unit = try #require(status["unit"]?.string)
      #expect(status["file"]?.string == "\(tools)/systemd/user/\(unit)")
      #expect(try await service("uninstall").code == 0)
      let asked = try String(contentsOfFile: tools + "/asked", encoding: .utf8)
      // Otherwise systemd would keep listing a unit that has failed.
      let last = ["--user disable --now \(unit)", "--user reset-failed \(unit)", "--user daemon-reload"]
      #expect(asked.split(separator: "\n").suffix(3).map(String.init) == last, "\(asked)")
      let gone = try await service("status --json").json
      #expect(gone["file"]?.isNull == true)
      #expect(gone["next"]?.string?.hasSuffix("service install") == true, "\(gone)")
    }
  }
}
