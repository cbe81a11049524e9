import Platform
import Simulation

/// `simulator`: runs simulated worlds from seeds and reports failed checks.
@main
struct Simulator {
  static func main() {
    guard var command = Command(CommandLine.arguments.dropFirst()) else {
      writeToStandardError(Command.usage)
      exit(2)
    }
    exit(command.run() ? 0 : 1)
  }
}
