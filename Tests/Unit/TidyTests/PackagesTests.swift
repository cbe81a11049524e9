import Foundation
import Testing

/// `Tests/packages.sh`, which gives the Python suites their shared environment.
@Suite struct PackagesTests {
  @Test func `suites that start together create one environment, and all of them find its packages`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "packages-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    // Like the real one, this python3 takes a while to create an environment, and fails if another one is doing that.
    try script(
      """
      [ -x "$3/bin/pip" ] && exit 0
      mkdir "$3" && sleep 0.2 && mkdir "$3/bin" && printf '#!/bin/sh\\nexit 0\\n' >"$3/bin/pip"
      chmod +x "$3/bin/pip"
      """, at: folder.appending(path: "python3"))
    let suites = try (0..<4).map { number in
      let suite = Process()
      suite.executableURL = URL(filePath: "/bin/bash")
      suite.arguments = [
        "-c", "PATH=\(folder.path):$PATH; root=\(folder.path); . Tests/packages.sh; have_packages \"$1\"",
        "bash",
        "Tests/Independent/\(number.isMultiple(of: 2) ? "Interop" : "Oracle")/requirements.txt",
      ]
      suite.currentDirectoryURL = Repository.root
      try suite.run()
      return suite
    }
    for suite in suites {
      suite.waitUntilExit()
      #expect(suite.terminationStatus == 0)
    }
  }

  private func script(_ text: String, at file: URL) throws {
    try "#!/bin/sh\n\(text)\n".write(to: file, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
  }
}
