import Console
import Testing

/// Other programs of the system that a command runs, such as a service manager or a browser.
@Suite(.serialized) struct HelperProgramTests {
  @Test func `the outcome of a program has its exit code and all that it wrote`() {
    let failed = Helper.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
    #expect(failed.code == 3 && failed.output == "out\nerr\n", "\(failed)")
    let done = Helper.run(["true"])
    #expect(done.code == 0 && done.output.isEmpty)
    let killed = Helper.run(["sh", "-c", "echo here; kill -KILL $$"])
    #expect(killed.code == 137 && killed.output == "here\n", "\(killed)")
  }

  @Test func `a program that is not installed has no exit code`() {
    let missing = Helper.run(["no-such-program-of-waymark", "--version"])
    #expect(missing.code == nil && missing.output.isEmpty)
    #expect(!Helper.begin(["no-such-program-of-waymark"]))
    #expect(Helper.begin(["true"]))
  }

  @Test func `a program has no input to wait for, and may write more than is kept`() {
    let reader = Helper.run(["cat"])
    #expect(reader.code == 0 && reader.output.isEmpty)
    let writer = Helper.run(["sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x; exit 5"])
    #expect(writer.code == 5)
    #expect(writer.output.utf8.allSatisfy { $0 == UInt8(ascii: "x") })
    #expect((65_536..<80_000).contains(writer.output.utf8.count), "\(writer.output.utf8.count)")
  }
}
