import Foundation
import JSONDocument
import Testing

/// Commands whose answer is itself a file: what goes to standard output, and which files are written.
struct PrintedDocumentTests {
  @Test func `with --json there is one document, and no file that was not asked for`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init", "--name", "alice")
      try await alice.run("trip", "add", "name=Rome")
      let folder = workshop.path("folder")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)

      let export = try await alice.run("export", "--format", "json", "--json").json
      #expect(export["schema"] == "waymark.export/1", "\(export)")
      #expect(export["content"]?.string?.contains("Rome") == true, "\(export)")

      let page = try await alice.shell("cd '\(folder)'; $W page --json")
      #expect(page.code == 0 && page.json["schema"] == "waymark.page/1", "\(page)")
      #expect(page.json["output"]?.isNull == true && page.json["opened"] == false)

      let key = workshop.path("issuer")
      #expect(try await alice.run("issuer", "init", key).code == 0)
      let circle = String(repeating: "ab", count: 32)
      let issued = try await alice.run(
        "issuer", "issue", "--key", key, "--circle", circle, "--until", "2099-01-01", "--json"
      ).json
      #expect(issued["schema"] == "waymark.issuer.issue/1", "\(issued)")
      #expect(issued["certificate"]?.string?.hasPrefix("waymark-entitlement-1 ") == true)
      #expect(issued["circle"]?.string == circle && issued["isOwnCircle"] == false)
      #expect(issued["until"]?.string?.hasPrefix("2099-01-0") == true)

      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }
  }

  @Test func `an output that is a pipe gets everything, and is named`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init", "--name", "alice")
      let folder = workshop.path("folder")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let page = try await alice.shell("cd '\(folder)'; $W page --output /dev/fd/1 | cat")
      #expect(page.output.hasPrefix("<!doctype html>"))
      #expect(page.errors == "Wrote /dev/fd/1.\n")
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
      let export = try await alice.shell("$W export --format json --output /dev/fd/1 | cat")
      #expect(export.json["settings"] == [], "\(export.output)")
      #expect(export.errors == "Wrote /dev/fd/1.\n")

      let written = try await alice.shell("cd '\(folder)'; $W page --no-open")
      #expect(written.output.isEmpty && written.errors == "Wrote waymark.html.\n", "\(written)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["waymark.html"])
    }
  }

  @Test func `an import from standard input leaves no copy of it behind`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init", "--name", "alice")
      try await alice.run("trip", "add", "name=Rome")
      let (file, folder) = (workshop.path("export.json"), workshop.path("temporary"))
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      #expect(try await alice.run("export", "--format", "json", "--output", file).code == 0)
      for (line, code) in [("cat '\(file)'", 0), ("echo nonsense", 1)] as [(String, Int32)] {
        let outcome = try await alice.shell("\(line) | TMPDIR='\(folder)' $W import -")
        #expect(outcome.code == code, "\(line): \(outcome)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty, "\(line)")
      }
    }
  }
}
