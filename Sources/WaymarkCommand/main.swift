import Platform
import Home
import Waymark

let arguments = Array(CommandLine.arguments.dropFirst())
ProcessGuard.hideTickets()
ProcessGuard.holdStandardDescriptors()
ProcessGuard.raise()
let application = Application(
  arguments: arguments, environment: ProcessInfo.processInfo.environment)
exit(await application.run())
