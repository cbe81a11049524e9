import Foundation
import Home
import Platform
import Reasons
import Testing

/// Which directory a command uses.
struct HomeChoiceTests {
  static let alice = "/home/alice/.local/share/waymark"

  @Test(
    .enabled(if: OperatingSystem.current == .linux),
    arguments: [
      (nil, ["HOME": "/home/alice"], alice), (nil, ["HOME": "/home/alice", "XDG_DATA_HOME": ""], alice),
      (nil, ["HOME": "/home/alice", "XDG_DATA_HOME": "data"], alice),
      (nil, ["HOME": "/home/alice", "XDG_DATA_HOME": "/data"], "/data/waymark"),
      (nil, ["XDG_DATA_HOME": "/data"], "/data/waymark"),
      (nil, ["HOME": "/home/alice", "WAYMARK_HOME": "/elsewhere"], "/elsewhere"),
      ("/flag", ["HOME": "/home/alice", "WAYMARK_HOME": "/elsewhere"], "/flag"), ("/flag/", [:], "/flag"),
      ("/", [:], "/"),
    ] as [(String?, [String: String], String)])
  func `the flag goes before the variable, and both before the folder of the user`(
    flag: String?, environment: [String: String], path: String
  ) throws {
    #expect(try Home.resolve(flag: flag, environment: environment).path == path)
  }

  @Test func `a relative directory is in the current one`() throws {
    let here = try workingDirectory()
    #expect(try Home.resolve(flag: "there", environment: [:]).path == here + "/there")
    #expect(try Home.resolve(flag: nil, environment: ["WAYMARK_HOME": "a/b/"]).path == here + "/a/b")
  }

  @Test(
    arguments: [
      ("", ["HOME": "/home/alice"]), ("", ["HOME": "/home/alice", "WAYMARK_HOME": "/elsewhere"]),
      (nil, ["HOME": "/home/alice", "WAYMARK_HOME": ""]), (nil, [:]), (nil, ["HOME": "alice"]),
      (nil, ["HOME": ""]),
    ] as [(String?, [String: String])])
  func `what is empty does not choose the home of the user, and without one there is none`(
    flag: String?, environment: [String: String]
  ) {
    #expect(code { _ = try Home.resolve(flag: flag, environment: environment) } == .usage)
  }
}
