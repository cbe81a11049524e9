import JSONDocument
import Testing
import Waymark
import WaymarkCare

@testable import Control

/// Which commands change nothing. A command that is taken for one of them by mistake is performed on a copy of a home
/// that can't be written to, and an interrupted one says that nothing was changed.
struct ReadOnlyTests {
  private static let always = [
    "ping", "status", "wait", "peers.list", "sync.status", "conflicts.list", "history", "members.list",
    "invite.list", "trip.list", "habit.list", "trash.list", "files.list", "settings.list", "onboarding.show",
    "premium.show", "issuer.list", "why",
  ]

  private func isReadOnly(_ command: String, _ arguments: JSON) throws -> Bool? {
    guard let type = Commands.named(command) else { return nil }
    return try isReadOnly(opened: type, ControlRequest(command: command, arguments: arguments))
  }

  private func isReadOnly(opened type: (some NodeCommand).Type, _ request: ControlRequest) throws -> Bool {
    try request.command(as: type).isReadOnly
  }

  @Test(arguments: always) func `a command that only shows something is read-only`(command: String) throws {
    #expect(try isReadOnly(command, [:]) == true)
  }

  @Test(arguments: [
    "undo", "erase", "trash.empty", "mirror", "assert", "cleanup", "restamp", "import", "revoke", "sync.on",
  ])
  func `a command is read-only with its preview, and not without`(command: String) throws {
    #expect(try isReadOnly(command, ["preview": true]) == true)
    #expect(try isReadOnly(command, ["preview": false]) == false)
    #expect(try isReadOnly(command, [:]) == false)
  }

  @Test(
    arguments: [
      ("status", ["acknowledge": true], false), ("status", ["acknowledge": false], true),
      ("metrics", [:], true), ("metrics", ["write": "/x"], false), ("logging.level", [:], true),
      ("logging.level", ["level": "debug"], false), ("files.keep", [:], true),
      ("files.keep", ["policy": "all"], false), ("verify", [:], true), ("verify", ["deep": true], true),
      ("verify", ["repair": true], false), ("verify", ["repair": false], true), ("profile.show", [:], true),
      ("profile.show", ["output": "/x"], false), ("trip.show", ["id": "Rome"], true),
      ("attachment.show", ["id": "a", "output": "/x"], false), ("export", ["format": "json"], true),
      ("export", ["format": "json", "output": "/x"], false),
    ] as [(String, JSON, Bool)])
  func `an argument that changes something makes a command one that changes something`(
    command: String, arguments: JSON, expected: Bool
  ) throws {
    #expect(try isReadOnly(command, arguments) == expected)
  }

  @Test(
    arguments: [
      ("trip.add", [:]), ("trip.edit", ["id": "Rome"]), ("trip.delete", ["id": "Rome"]),
      ("trip.restore", ["id": "Rome"]), ("settings.set", ["key": "a", "value": "b"]),
      ("settings.unset", ["key": "a"]), ("peers.add", ["address": "a:1"]),
      ("peers.remove", ["address": "a:1"]),
      ("peers.pause", ["peer": "bob"]), ("peers.resume", ["peer": "bob"]), ("peers.rename", ["peer": "bob"]),
      ("conflicts.resolve", [:]), ("sync.off", [:]), ("sync.now", [:]), ("onboarding.complete", [:]),
      ("onboarding.reset", [:]),
    ] as [(String, JSON)])
  func `a command that writes is never read-only`(command: String, arguments: JSON) throws {
    #expect(try isReadOnly(command, arguments) == false)
  }
}
