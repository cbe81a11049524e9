import Console
import Control
import JSONDocument
import Testing
import Waymark
import WaymarkCare

@testable import WaymarkCommand

/// `join` with a code and the address of the device that shows it.
struct CodeAddressTests {
  private func context() -> CommandContext {
    let terminal = Terminal(noColor: true, environment: [:])
    return CommandContext(
      home: Home(path: "/nonexistent"), terminal: terminal, environment: [:],
      events: EventPrinter(terminal, printsJSON: false), printsJSON: false)
  }

  @Test(arguments: ["192.168.1.20", "192.168.1.20:0"])
  func `a code goes to the address that was typed, and an address that can't be dialled is named`(
    address: String
  ) async throws {
    let words = ["join", "482913", "--at", address]
    let command = try CommandParser(directory: "/").parse(words).request.command(as: JoinCircle.self)
    let failure = await #expect(throws: WaymarkError.self) { _ = try await command.run(context()) }
    #expect(failure?.exitCode == ExitCode.usage && failure?.field == "--at")
    #expect(failure?.message.description.hasPrefix("--at can't be “\(address)”") == true)
  }
}
